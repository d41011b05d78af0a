"""The ticks of pools at the ends of blocks: what a range held through, swap by swap."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.block_times import check_unmoved
from chain.history.events import by_protocol
from chain.protocols.protocol import LiquidityProtocol
from chain.protocols.v4.events import SWAP, swap_event
from chain.read.block_reader import expected, sound_answers
from chain.read.logs import NARROWABLE, scan_logs
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, RpcRefused
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
    wanted = sorted(pool_ids)
    topics = [
        (SWAP, tuple(wanted[at : at + TOPICS_AT_ONCE]))
        for at in range(0, len(wanted), TOPICS_AT_ONCE)
    ]
    newest = landmarks[0][0]
    manager = network.contracts.pool_manager
    filters = [LogFilter(manager, topic, newest + 1, head.number) for topic in topics]
    since, here, *found = await client.settle(
        [
            requests.block(newest),
            requests.block(head.number),
            *(requests.logs(log_filter) for log_filter in filters if newest < head.number),
        ]
    )
    check_unmoved(expected(here, Block), head)
    start = None if since is None else expected(since, Block)
    if start is not None and start.hash == landmarks[0][1]:
        if not any(isinstance(answer, NARROWABLE) for answer in found):
            logs = [log for answer in found for log in expected(answer, tuple)]
            return EndTicks(end_ticks(logs), start)
    else:
        start = await _still_there(client, landmarks[1:])
    if start is None:
        return None
    return EndTicks(await _scanned(client, network, topics, start, head), start)


def end_ticks(
    logs: Iterable[Log], protocol: LiquidityProtocol | None = None
) -> dict[PoolId, list[tuple[int, int]]]:
    """The last swap of each block and pool has the last word."""
    ticks: dict[PoolId, dict[int, tuple[int, int]]] = defaultdict(dict)
    with sound_answers():
        for log in logs:
            swap = swap_event(log) if protocol is None else protocol.swap(log, lambda _: 0)
            number, index = swap.place.block_number, swap.place.log_index
            if index >= ticks[swap.pool_id].get(number, (-1, 0))[0]:
                ticks[swap.pool_id][number] = (index, swap.tick)
    return {
        pool: [(number, by_block[number][1]) for number in sorted(by_block)]
        for pool, by_block in ticks.items()
    }


async def _scanned(
    client: RpcClient,
    network: Network,
    topics: Sequence[tuple[str, tuple[str, ...]]],
    start: Block,
    head: Block,
) -> dict[PoolId, list[tuple[int, int]]]:
    logs: list[Log] = []
    manager = network.contracts.pool_manager
    async for part in scan_logs(client, manager, topics, start.number + 1, head.number):
        logs += part.logs
        if part.last.number == head.number:
            check_unmoved(part.last, head)
    return end_ticks(logs)


async def _still_there(client: RpcClient, landmarks: Sequence[tuple[int, str]]) -> Block | None:
    outcomes = await client.settle([requests.block(number) for number, _ in landmarks])
    for (_, block_hash), outcome in zip(landmarks, outcomes, strict=True):
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome is not None and outcome.hash == block_hash:
            return outcome
    return None


async def read_swap_ticks(
    client: RpcClient, network: Network, pools: Collection[PoolId], since: Block, head: Block
) -> dict[PoolId, list[tuple[int, int]]]:
    """The ticks of pools of any protocol after each block with a swap; nothing where no logs are
    to be had.

    Where the price stands at the head is known without them.
    """
    if since.number >= head.number:
        return {}
    found: dict[PoolId, list[tuple[int, int]]] = {}
    for protocol, several in by_protocol(sorted(pools)):
        told_by = protocol.pool_logs(network, several)
        swaps = LogFilter(told_by.address, told_by.swaps, since.number + 1, head.number)
        try:
            logs = await client.ask(requests.logs(swaps))
        except (RpcRefused, *NARROWABLE):
            continue
        found |= end_ticks(logs, protocol)
    return found
