"""The reads behind a position's daily result."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from chain.history.block_times import first_block_since, read_headers
from chain.history.swaps import read_swaps
from chain.positions.daily import DAY, DailyResult, DayStart, daily_result, earning_since
from chain.positions.identity import layout_of
from chain.positions.past_words import read_past_words
from chain.positions.price_logs import find_last_price
from chain.quantity import Unknown
from chain.reading.one_block import sound_answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.history.memory import SwapMemory
    from chain.networks import Network
    from chain.positions.since_entry import SinceEntry
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.client import RpcClient


async def read_daily_results(
    client: RpcClient,
    network: Network,
    snapshots: Sequence[PositionSnapshot],
    accounts: Mapping[int, SinceEntry],
    *,
    swaps: SwapMemory | None = None,
) -> dict[int, DailyResult]:
    """The daily result of each position, all of one snapshot, by token id."""
    if not snapshots:
        return {}
    with sound_answers():
        return await _read(client, network, snapshots, accounts, swaps)


async def _read(
    client: RpcClient,
    network: Network,
    snapshots: Sequence[PositionSnapshot],
    accounts: Mapping[int, SinceEntry],
    swaps: SwapMemory | None,
) -> dict[int, DailyResult]:
    manager = network.contracts.position_manager
    head = snapshots[0].block
    day_ago = await first_block_since(client, network, head.timestamp - DAY, head)
    begins = {
        one.token_id: max(day_ago, earning_since(accounts[one.token_id]) or day_ago)
        for one in snapshots
    }
    wanted: dict[int, dict[int, None]] = defaultdict(dict)
    for one in snapshots:
        slots = layout_of(one.identity, manager).slots
        wanted[begins[one.token_id]].update(dict.fromkeys(slots))
    words = await read_past_words(client, network, {at: list(some) for at, some in wanted.items()})
    headers = {one.number: one for one in await read_headers(client, sorted(wanted))}
    pool_ids = sorted({one.pool.pool_id for one in snapshots})
    read = (
        read_swaps(client, network, pool_id, day_ago, head.number, memory=swaps)
        for pool_id in pool_ids
    )
    histories = dict(zip(pool_ids, await asyncio.gather(*read), strict=True))
    without_words = {
        one.pool.pool_id for one in snapshots if isinstance(words[begins[one.token_id]], Unknown)
    }
    earlier = {
        pool_id: await find_last_price(client, network, pool_id, day_ago - 1)
        for pool_id in sorted(without_words)
    }
    results: dict[int, DailyResult] = {}
    for one in snapshots:
        begin, pool_id = begins[one.token_id], one.pool.pool_id
        start = DayStart(headers[begin], words[begin], earlier.get(pool_id))
        results[one.token_id] = daily_result(one, manager, start, histories[pool_id])
    return results
