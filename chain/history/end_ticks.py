"""The ticks of pools at the ends of blocks: what a range held through, swap by swap."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.block_times import check_unmoved
from chain.history.events import by_protocol
from chain.protocols.past import PoolLogs
from chain.protocols.protocol import LiquidityProtocol
from chain.read.block_reader import expect, sound_answers
from chain.read.logs import NARROWABLE, scan_logs
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.records import Block, Log, LogFilter

TOPICS_AT_ONCE = 500
"""Pool ids in one filter; some nodes refuse a thousand."""


class EndTicks(Struct, frozen=True):
    """By pool: block number and tick of every block with a swap, in order."""

    of_pools: Mapping[PoolId, Sequence[tuple[int, int]]]
    since: Block
    """The last block that is not part of it."""


async def read_end_ticks(
    client: RpcClient,
    network: Network,
    pool_ids: Collection[PoolId],
    landmarks: Sequence[tuple[int, str]],
    head: Block,
) -> EndTicks | None:
    """The ticks after the first landmark that is still of this chain, up to the head.

    Landmarks are blocks by number and hash, newest first; None when the chain has none of them.
    One request, unless the node refuses so many blocks at once or the newest landmark is gone.
    """
    told_by = [
        (protocol, protocol.pool_logs(network, several[at : at + TOPICS_AT_ONCE]))
        for protocol, several in by_protocol(sorted(pool_ids))
        for at in range(0, len(several), TOPICS_AT_ONCE)
    ]
    newest = landmarks[0][0]
    filters = [LogFilter(each.address, each.swaps, newest + 1, head.number) for _, each in told_by]
    since, here, *found = await client.settle(
        [
            requests.block(newest),
            requests.block(head.number),
            *(requests.logs(log_filter) for log_filter in filters if newest < head.number),
        ]
    )
    check_unmoved(expect(here, Block), head)
    start = None if since is None else expect(since, Block)
    if start is not None and start.hash == landmarks[0][1]:
        if not any(isinstance(answer, NARROWABLE) for answer in found):
            ticks: dict[PoolId, list[tuple[int, int]]] = {}
            for (protocol, _), answer in zip(told_by, found, strict=False):
                ticks |= end_ticks(expect(answer, tuple), protocol)
            return EndTicks(ticks, start)
    else:
        start = await _still_there(client, landmarks[1:])
    if start is None:
        return None
    return EndTicks(await _scanned(client, told_by, start, head), start)


def end_ticks(
    logs: Iterable[Log], protocol: LiquidityProtocol
) -> dict[PoolId, list[tuple[int, int]]]:
    """The last swap of each block and pool has the last word."""
    ticks: dict[PoolId, dict[int, tuple[int, int]]] = defaultdict(dict)
    with sound_answers():
        for log in logs:
            swap = protocol.swap(log, lambda _: 0)
            number, index = swap.place.block_number, swap.place.log_index
            if index >= ticks[swap.pool_id].get(number, (-1, 0))[0]:
                ticks[swap.pool_id][number] = (index, swap.tick)
    return {
        pool: [(number, by_block[number][1]) for number in sorted(by_block)]
        for pool, by_block in ticks.items()
    }


async def _scanned(
    client: RpcClient,
    told_by: Sequence[tuple[LiquidityProtocol, PoolLogs]],
    start: Block,
    head: Block,
) -> dict[PoolId, list[tuple[int, int]]]:
    found: dict[PoolId, list[tuple[int, int]]] = {}
    for protocol, each in told_by:
        logs: list[Log] = []
        scanned = scan_logs(client, each.address, [each.swaps], start.number + 1, head.number)
        async for part in scanned:
            logs += part.logs
            if part.last.number == head.number:
                check_unmoved(part.last, head)
        found |= end_ticks(logs, protocol)
    return found


async def _still_there(client: RpcClient, landmarks: Sequence[tuple[int, str]]) -> Block | None:
    outcomes = await client.settle([requests.block(number) for number, _ in landmarks])
    for (_, block_hash), outcome in zip(landmarks, outcomes, strict=True):
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome is not None and outcome.hash == block_hash:
            return outcome
    return None
