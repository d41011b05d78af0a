"""All swaps of one pool over a range of blocks, read from logs and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.history.block_times import first_block_since, read_block_times, read_headers
from chain.history.events import SWAP, EventError, SwapEvent, swap_event
from chain.history.memory import RememberedSwaps, SwapMemory, TimedSwap
from chain.positions.log_scan import ScanProgress, scan_logs
from chain.rpc.errors import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.networks import Network
    from chain.pool_key import PoolId
    from chain.rpc.client import RpcClient
    from chain.rpc.types import Block, Log


@dataclass(frozen=True, slots=True)
class SwapHistory:
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
    remembered = memory.load(pool_id) if memory else None
    if remembered and not remembered.first <= from_block <= remembered.last + 1:
        remembered = None
    landmarks = {from_block, to_block} | ({remembered.last} if remembered else set())
    headers = {block.number: block for block in await read_headers(client, sorted(landmarks))}
    if remembered and headers[remembered.last].hash != remembered.last_hash:
        remembered = None
    known = list(headers.values())
    scan_from = max(from_block, remembered.last + 1) if remembered else from_block
    found: list[SwapEvent] = []
    topics = (SWAP, pool_id)
    pool_manager = network.contracts.pool_manager
    async for scanned in scan_logs(client, pool_manager, [topics], scan_from, to_block):
        found += map(_swap, scanned.logs)
        known.append(scanned.last)
        watch(ScanProgress(scan_from, to_block, scanned.last.number, len(found)))
    swaps = (*(remembered.swaps if remembered else ()), *await _timed(client, found, known))
    if memory and scan_from <= to_block:
        first = remembered.first if remembered else from_block
        memory.save(pool_id, RememberedSwaps(first, to_block, headers[to_block].hash, swaps))
    within = (timed for timed in swaps if from_block <= timed.swap.place.block_number <= to_block)
    return SwapHistory(pool_id, headers[from_block], headers[to_block], tuple(within))


async def _timed(client: RpcClient, swaps: list[SwapEvent], known: list[Block]) -> list[TimedSwap]:
    hashes = {swap.place.block_number: swap.place.block_hash for swap in swaps}
    times = await read_block_times(client, hashes, known)
    return [
        TimedSwap(swap, times[swap.place.block_number], swap.place.block_number in times.estimated)
        for swap in swaps
    ]


def _swap(log: Log) -> SwapEvent:
    try:
        return swap_event(log)
    except EventError as error:
        raise Malformed(f"a log that is no Swap: {error}", endpoint="The RPC") from error
