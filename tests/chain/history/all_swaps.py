"""All swaps of a pool over a range of blocks at once, to count by what is read by the hour."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.block_times import MOST_EXACT, read_block_times, read_headers
from chain.history.events import FeeTerms
from chain.history.hours import PoolHours, PoolMoment, RecentSwap, hour_rows, recent_since
from chain.protocols.past import SwapEvent
from chain.protocols.v4.events import SWAP, swap_event
from chain.read.logs import ScanProgress, scan_logs
from chain.rpc.client import RpcClient
from chain.rpc.records import Block


class TimedSwap(Struct, frozen=True):
    swap: SwapEvent
    time: int
    time_estimated: bool = False
    """Whether the time is interpolated between blocks whose time was read."""


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


async def read_swaps(
    client: RpcClient,
    network: Network,
    pool_id: PoolId,
    from_block: int,
    to_block: int,
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
    most_exact: int = MOST_EXACT,
) -> SwapHistory:
    """Every swap of these blocks, or an error: never a part of them.

    Raises `Reorged` when the chain changed while it was read; reading again starts afresh.
    """
    ends = await read_headers(client, sorted({from_block, to_block}))
    first, last = ends[0], ends[-1]
    events: list[SwapEvent] = []
    blocks = [first]
    topics = (SWAP, pool_id)
    pool_manager = network.contracts.pool_manager
    async for scanned in scan_logs(client, pool_manager, [topics], from_block, to_block):
        events += map(swap_event, scanned.logs)
        blocks.append(scanned.last)
        watch(ScanProgress(from_block, to_block, scanned.last.number, len(events)))
    hashes = {swap.place.block_number: swap.place.block_hash for swap in events}
    # Logs were read up to the end: it must still be there after them, or they are another's.
    hashes[to_block] = last.hash
    before = [block for block in blocks if block.number != to_block]
    times = await read_block_times(client, hashes, before, most_exact=most_exact)
    swaps = tuple(
        TimedSwap(swap, times[swap.place.block_number], swap.place.block_number in times.estimated)
        for swap in events
    )
    return SwapHistory(pool_id, first, last, swaps)


def pool_hours(
    pool_id: PoolId,
    since: int,
    last: Block,
    swaps: Sequence[RecentSwap],
    terms: FeeTerms,
    opening: int = 0,
) -> PoolHours:
    """The hours of swaps that are all at hand, and of the price before them."""
    kept_since = recent_since(last.timestamp)
    recent = tuple(swap for swap in swaps if swap.time >= kept_since)
    rows = tuple(hour_rows(swaps, terms, PoolMoment(opening)))
    return PoolHours(pool_id, since, last, rows, recent, kept_since, terms=terms)
