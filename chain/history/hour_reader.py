"""The hours of pools up to a block, read once: saved as they come, continued where they stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import DAY, HOUR
from chain.history.block_times import (
    MOST_EXACT,
    BlockTimes,
    first_block_since,
    read_block_times,
    read_headers,
)
from chain.history.events import SWAP, SwapEvent, swap_event
from chain.history.hours import (
    KeptHours,
    Landmark,
    PoolHours,
    RecentSwap,
    hour_of,
    recent_since,
    recent_swap,
)
from chain.read.block_reader import EventError
from chain.read.logs import ScanProgress, scan_logs
from chain.rpc import requests
from chain.rpc.errors import Malformed, Reorged, RpcError, StatePruned
from chain.rpc.records import Block, Log

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.history.flows import FeeTerms
    from chain.history.hour_memory import HourMemory
    from chain.rpc.client import RpcClient

# Blocks of a live network come evenly enough to tell the time between two of them; those of the
# embedded chain come whenever somebody moves its clock.
_MOST_EXACT_BY_CLOCK = {"wall": MOST_EXACT, "head": 2_000}

_EXACT_EVERY = HOUR // 2
"""On such a network the times of two blocks so far apart tell those between to a few seconds."""

_SETTLED_SECONDS = HOUR
"""Older blocks are not replaced any more."""

_SECONDS_AT_FIRST = 2 * HOUR
"""How much of a pool nothing is known of is asked for in the first request for logs."""

_MOST_CALLS = 3_000
"""For all the logs that are wanted: a few minutes of them, at an endpoint that limits its pace."""


class _Group(Struct, frozen=True):
    """Pools that are read together, and the block before the first that is asked for."""

    pools: tuple[PoolId, ...]
    anchor: Block


async def read_hours(
    client: RpcClient,
    network: Network,
    terms: Mapping[PoolId, FeeTerms],
    seconds: int,
    *,
    memory: HourMemory,
    head: Block | None = None,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> dict[PoolId, PoolHours]:
    """Every swap of the last so many seconds up to the head, by the chain's own clock.

    Raises `Reorged` when the chain changed while it was read; what was saved before is looked
    through again at the next read.
    """
    if not terms:
        return {}
    reader = _HourReader(client, network, terms, head or await client.head(), memory)
    kept = await reader.begin(seconds)
    for group in reader.groups(kept):
        async for grown in reader.grow(group, kept, watch):
            kept |= grown
    return {pool: one.hours(pool, reader.head) for pool, one in kept.items()}


class _HourReader:
    def __init__(
        self,
        client: RpcClient,
        network: Network,
        terms: Mapping[PoolId, FeeTerms],
        head: Block,
        memory: HourMemory,
    ) -> None:
        self._client = client
        self._network = network
        self._terms = terms
        self.head = head
        self._memory = memory
        self._headers: dict[int, Block] = {}
        self._exact_left = _MOST_EXACT_BY_CLOCK[network.clock]

    async def begin(self, seconds: int) -> dict[PoolId, KeptHours]:
        """What is remembered and still of this chain, or an empty beginning."""
        since = self.head.timestamp - seconds
        confirmed = await self._confirmed()
        usable = {pool: one for pool, one in confirmed.items() if _covers(one, since)}
        fresh = [pool for pool in self._terms if pool not in usable]
        if not fresh:
            return usable
        start = await first_block_since(self._client, self._network, since, self.head)
        [opening] = await read_headers(self._client, [start])
        first = start <= self._network.first_block
        before = Landmark(start - 1, opening.parent_hash, opening.timestamp)
        self._headers[before.number] = opening
        empty = KeptHours(
            since=opening.timestamp,
            from_first_block=first,
            last=before,
            landmarks=(),
            rows=(),
            recent=(),
            recent_since=recent_since(self.head.timestamp),
        )
        return usable | dict.fromkeys(fresh, empty)

    def groups(self, kept: Mapping[PoolId, KeptHours]) -> list[_Group]:
        """Those read to within a day together, of the others those that stopped at one block.

        A pool met for the first time must not have the others read again from its beginning.
        """
        near = self.head.timestamp - DAY
        by_start: dict[int, list[PoolId]] = defaultdict(list)
        recent = [one.last.number for one in kept.values() if one.last.time >= near]
        for pool, one in kept.items():
            start = min(recent) if one.last.time >= near else one.last.number
            by_start[start].append(pool)
        return [
            _Group(tuple(sorted(pools)), self._headers[start])
            for start, pools in by_start.items()
            if start < self.head.number
        ]

    async def grow(
        self,
        group: _Group,
        kept: Mapping[PoolId, KeptHours],
        watch: Callable[[ScanProgress], None],
    ) -> AsyncIterator[dict[PoolId, KeptHours]]:
        """The same pools a range of blocks further each time, every one of them saved."""
        grown = {pool: kept[pool] for pool in group.pools}
        first = min(one.last.number for one in grown.values()) + 1
        anchor, found = group.anchor, 0
        async for scanned in scan_logs(
            self._client,
            self._network.contracts.pool_manager,
            [(SWAP, group.pools)],
            first,
            self.head.number,
            blocks_at_first=round(_SECONDS_AT_FIRST / self._network.block_seconds),
            most_calls=_MOST_CALLS,
        ):
            events = [_swap(log) for log in scanned.logs]
            times = await self._times(events, anchor, scanned.last)
            if scanned.last.number == self.head.number:
                _check(scanned.last, self.head)
            grown = self._saved(grown, events, times, scanned.last)
            anchor, found = scanned.last, found + len(events)
            watch(ScanProgress(first, self.head.number, scanned.last.number, found))
            yield grown

    def _saved(
        self,
        before: Mapping[PoolId, KeptHours],
        events: Sequence[SwapEvent],
        times: BlockTimes,
        end: Block,
    ) -> dict[PoolId, KeptHours]:
        swaps: dict[PoolId, list[RecentSwap]] = defaultdict(list)
        for one in events:
            number = one.place.block_number
            if number > before[one.pool_id].last.number:
                swap = recent_swap(one, times[number], estimated=number in times.estimated)
                swaps[one.pool_id].append(swap)
        last = Landmark(end.number, end.hash, end.timestamp)
        since = recent_since(self.head.timestamp)
        after = {
            pool: one.extended(swaps[pool], last, since, self._terms[pool])
            if one.last.number < last.number
            else one
            for pool, one in before.items()
        }
        changed = min((one.last.time for one in before.values()), default=0)
        self._memory.save(after, changed)
        for pool, kept in before.items():
            gone = {hour_of(swap.time) for swap in kept.recent if swap.time < since}
            self._memory.forget_swaps(pool, gone)
        return after

    async def _times(self, events: Iterable[SwapEvent], anchor: Block, end: Block) -> BlockTimes:
        hashes = {one.place.block_number: one.place.block_hash for one in events}
        known, exact = [anchor, end], self._exact_left
        if self._network.clock == "wall":
            exact = min(exact, (end.timestamp - anchor.timestamp) // _EXACT_EVERY)
        if end.timestamp > self.head.timestamp - _SETTLED_SECONDS:
            # It must still be there after its logs were read, or they are another's.
            known, exact = [anchor], max(2, exact)
            hashes[end.number] = end.hash
        times = await read_block_times(self._client, hashes, known, most_exact=exact)
        self._exact_left -= max(0, len(times.seconds) - len(times.estimated) - 2)
        return times

    async def _confirmed(self) -> dict[PoolId, KeptHours]:
        """What is remembered, taken back to the last block of it that the chain still has."""
        loaded = {
            pool: one
            for pool, terms in self._terms.items()
            if (one := self._memory.load(pool, terms)) is not None
        }
        await self._read_headers({self.head.number, *(one.last.number for one in loaded.values())})
        here = self._headers.get(self.head.number)
        if here is None:
            raise StatePruned(f"it has no block {self.head.number}")
        _check(here, self.head)
        replaced = [one for one in loaded.values() if not self._has(one.last)]
        await self._read_headers({mark.number for one in replaced for mark in one.landmarks})
        confirmed = {}
        for pool, one in loaded.items():
            known = self._known(one, self._terms[pool])
            if known is not None:
                confirmed[pool] = known
        return confirmed

    def _known(self, kept: KeptHours, terms: FeeTerms) -> KeptHours | None:
        if not self._has(kept.last):
            marks = [mark for mark in kept.landmarks if self._has(mark)]
            back = kept.rolled_back(marks[-1], terms) if marks else None
            if back is None:
                return None
            kept = back
        if kept.last.number <= self.head.number:
            return kept
        # Somebody has read a newer block than the one that is wanted.
        here = Landmark(self.head.number, self.head.hash, self.head.timestamp)
        return kept.rolled_back(here, terms)

    def _has(self, landmark: Landmark) -> bool:
        found = self._headers.get(landmark.number)
        return found is not None and found.hash == landmark.hash

    async def _read_headers(self, numbers: set[int]) -> None:
        wanted = sorted(numbers - self._headers.keys())
        if not wanted:
            return
        outcomes = await self._client.settle([requests.block(number) for number in wanted])
        for number, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, RpcError):
                raise outcome
            if isinstance(outcome, Block):
                self._headers[number] = outcome


def _covers(kept: KeptHours, since: int) -> bool:
    """Whether reading on from there is better than beginning anew."""
    return (kept.since <= since or kept.from_first_block) and kept.last.time >= since


def _check(found: Block, head: Block) -> None:
    if found.hash != head.hash:
        raise Reorged(head.number, head.hash, found.hash, endpoint="the RPC")


def _swap(log: Log) -> SwapEvent:
    try:
        return swap_event(log)
    except EventError as error:
        raise Malformed(f"a log that is no Swap: {error}", endpoint="The RPC") from error
