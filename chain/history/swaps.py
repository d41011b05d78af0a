"""All swaps of pools over a range of blocks, read from logs and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.history.block_times import MOST_EXACT, first_block_since, read_block_times
from chain.history.events import SWAP, SwapEvent, swap_event
from chain.history.memory import RememberedSwaps, SwapMemory, TimedSwap
from chain.read.block_reader import EventError
from chain.read.logs import ScanProgress, scan_logs
from chain.rpc import requests
from chain.rpc.errors import Malformed, RpcError, StatePruned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block, Log


class SwapHistory(Struct, frozen=True):
    """Every swap of a pool between two blocks, none left out."""

    pool_id: PoolId
    first: Block
    last: Block
    swaps: tuple[TimedSwap, ...]

    @property
    def estimated_times(self) -> int:
        """How many swaps have a time that is interpolated and not read."""
        return sum(timed.time_estimated for timed in self.swaps)


async def read_recent_swaps(
    client: RpcClient,
    network: Network,
    pool_id: PoolId,
    seconds: float,
    *,
    memory: SwapMemory | None = None,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> SwapHistory:
    """The swaps of the last so many seconds up to the head, by the chain's own clock."""
    head = await client.head()
    start = await first_block_since(client, network, head.timestamp - seconds, head)
    return await read_swaps(
        client, network, pool_id, start, head.number, memory=memory, watch=watch
    )


async def read_swaps(
    client: RpcClient,
    network: Network,
    pool_id: PoolId,
    from_block: int,
    to_block: int,
    *,
    memory: SwapMemory | None = None,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> SwapHistory:
    """Every swap of these blocks, or an error: never a part of them.

    Raises `Reorged` when the chain changed while it was read; reading again starts afresh.
    """
    histories = await read_swaps_of(
        client, network, [pool_id], from_block, to_block, memory=memory, watch=watch
    )
    return histories[pool_id]


async def read_swaps_of(
    client: RpcClient,
    network: Network,
    pool_ids: Sequence[PoolId],
    from_block: int,
    to_block: int,
    *,
    memory: SwapMemory | None = None,
    watch: Callable[[ScanProgress], None] = lambda _: None,
    most_exact: int = MOST_EXACT,
) -> dict[PoolId, SwapHistory]:
    """The same for several pools, whose logs and times are asked for together."""
    loaded = _loaded(memory, pool_ids)
    headers = await _landmarks(client, from_block, to_block, {one.last for one in loaded.values()})
    known = {
        pool: one
        for pool, one in loaded.items()
        if one.first <= from_block <= one.last + 1
        and one.last in headers
        and headers[one.last].hash == one.last_hash
    }
    starts = {pool: known[pool].last + 1 if pool in known else from_block for pool in pool_ids}
    scans = min(starts.values(), default=to_block + 1) <= to_block
    events: list[SwapEvent] = []
    blocks = [*headers.values()]
    # A pool met for the first time must not have the others read again from its beginning.
    for group in (known.keys(), starts.keys() - known.keys()):
        scan_from = min((starts[pool] for pool in group), default=to_block + 1)
        topics = (SWAP, tuple(sorted(group)))
        pool_manager = network.contracts.pool_manager
        async for scanned in scan_logs(client, pool_manager, [topics], scan_from, to_block):
            events += map(_swap, scanned.logs)
            blocks.append(scanned.last)
            watch(ScanProgress(scan_from, to_block, scanned.last.number, len(events)))
    new = [swap for swap in events if swap.place.block_number >= starts[swap.pool_id]]
    timed = await _timed(client, new, blocks, headers[to_block], most_exact) if scans else []
    histories: dict[PoolId, SwapHistory] = {}
    for pool, start in starts.items():
        before = known[pool].swaps if pool in known else ()
        swaps = (*before, *(one for one in timed if one.swap.pool_id == pool))
        if memory and start <= to_block:
            first = known[pool].first if pool in known else from_block
            memory.save(pool, RememberedSwaps(first, to_block, headers[to_block].hash, swaps))
        within = (one for one in swaps if from_block <= one.swap.place.block_number <= to_block)
        histories[pool] = SwapHistory(pool, headers[from_block], headers[to_block], tuple(within))
    return histories


def _loaded(memory: SwapMemory | None, pool_ids: Sequence[PoolId]) -> dict[PoolId, RememberedSwaps]:
    found = {pool: memory.load(pool) for pool in pool_ids} if memory else {}
    return {pool: one for pool, one in found.items() if one is not None}


async def _landmarks(
    client: RpcClient, from_block: int, to_block: int, remembered: set[int]
) -> dict[int, Block]:
    """The headers of both ends, and those of the remembered blocks that the chain still has."""
    ends = sorted({from_block, to_block})
    others = sorted(remembered.difference(ends))
    outcomes = await client.settle([requests.block(number) for number in (*ends, *others)])
    headers: dict[int, Block] = {}
    for number, outcome in zip((*ends, *others), outcomes, strict=True):
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome is not None:
            headers[number] = outcome
        elif number in ends:
            raise StatePruned(f"it has no block {number}")
    return headers


async def _timed(
    client: RpcClient, swaps: list[SwapEvent], known: list[Block], end: Block, most_exact: int
) -> list[TimedSwap]:
    hashes = {swap.place.block_number: swap.place.block_hash for swap in swaps}
    # Logs were read up to the end: it must still be there after them, or they are another's.
    hashes[end.number] = end.hash
    before = [block for block in known if block.number != end.number]
    times = await read_block_times(client, hashes, before, most_exact=most_exact)
    return [
        TimedSwap(swap, times[swap.place.block_number], swap.place.block_number in times.estimated)
        for swap in swaps
    ]


def _swap(log: Log) -> SwapEvent:
    try:
        return swap_event(log)
    except EventError as error:
        raise Malformed(f"a log that is no Swap: {error}", endpoint="The RPC") from error
