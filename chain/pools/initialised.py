"""Pools that announced themselves: the Initialize logs between known tokens, hooks and all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.history.events import INITIALIZE, EventError, initialize_event
from chain.pools.memory import Cursor, LogCoverage
from chain.reading.log_scan import ScanProgress, scan_logs
from chain.reading.one_block import NoSuchBlockError
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.types import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chain.networks import Address, Network
    from chain.pool_key import PoolKey
    from chain.pools.memory import PoolMemory
    from chain.rpc.client import RpcClient


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """How a scan is to go: whom to tell of its progress, and when to stop for this time."""

    watch: Callable[[ScanProgress], None] = lambda _: None
    most_ranges: int | None = 60
    """The next run goes on from there; None reads to the head, however long that takes."""


@dataclass(frozen=True, slots=True)
class InitialisedPools:
    keys: tuple[PoolKey, ...]
    coverage: LogCoverage


async def initialised_pools(
    client: RpcClient,
    network: Network,
    tokens: Iterable[Address],
    memory: PoolMemory,
    plan: ScanPlan,
    *,
    now: float,
) -> InitialisedPools:
    """The pools made between two of these tokens; what could not be read is said, not raised."""
    scan = _Scan(network, tokens, memory, now)
    failure: str | None = None
    try:
        await scan.begin(client)
        await scan.read(client, plan)
    except RpcError as error:
        failure = error.sentence
    except (EventError, NoSuchBlockError) as error:
        failure = str(error)
    return InitialisedPools(tuple(scan.found), scan.coverage(failure))


class _Scan:
    """The pools found so far, and up to which block."""

    def __init__(
        self, network: Network, tokens: Iterable[Address], memory: PoolMemory, now: float
    ) -> None:
        self._pool_manager = network.contracts.pool_manager
        self._first = network.first_block
        words = tuple("0x" + address[2:].zfill(64) for address in sorted(tokens))
        self._topics = (INITIALIZE, None, words, words)
        self._memory = memory
        self._now = now
        self._settled: Block | None = None
        self._head = self._first
        self._through = self._first - 1
        self.found: dict[PoolKey, int] = {}
        """With the block each pool was made in."""

    async def begin(self, client: RpcClient) -> None:
        """Go on from what is remembered, unless it is of another chain."""
        cursor = self._memory.cursor()
        if cursor is not None:
            self.found = dict.fromkeys(cursor.keys, cursor.through)
            self._through = cursor.through
        landmark = [] if cursor is None else [requests.block(cursor.through)]
        asked = [requests.block("latest"), requests.block("finalized"), *landmark]
        head, settled, *landmarks = await client.settle(asked)
        if isinstance(head, RpcError):
            raise head
        if head is None:
            raise NoSuchBlockError("latest")
        self._head = head.number
        # Without a word on what is final, nothing new is remembered.
        self._settled = settled if isinstance(settled, Block) else None
        for mark in landmarks:
            if isinstance(mark, RpcError):
                raise mark
            if cursor is not None and (mark is None or mark.hash != cursor.block_hash):
                self.found, self._through = {}, self._first - 1

    async def read(self, client: RpcClient, plan: ScanPlan) -> None:
        first = self._through + 1
        ranges_left = plan.most_ranges
        ranges = scan_logs(client, self._pool_manager, [self._topics], first, self._head)
        async for part in ranges:
            for event in map(initialize_event, part.logs):
                self.found[event.key] = event.place.block_number
            self._through = part.last.number
            self._remember(part.last)
            plan.watch(ScanProgress(first, self._head, self._through, len(self.found)))
            if ranges_left is not None:
                ranges_left -= 1
                if ranges_left <= 0:
                    return

    def coverage(self, failure: str | None) -> LogCoverage:
        return LogCoverage(self._first, self._through, self._head, failure)

    def _remember(self, last: Block) -> None:
        """Keep what no reorganisation can take back."""
        if self._settled is None:
            return
        upto = last if last.number <= self._settled.number else self._settled
        keys = tuple(key for key, block in self.found.items() if block <= upto.number)
        self._memory.keep_cursor(Cursor(upto.number, upto.hash, keys), now=self._now)
