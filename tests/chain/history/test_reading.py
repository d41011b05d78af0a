"""Swaps read through JSON-RPC: all of them, in few requests, safe from reorgs."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from chain.devnet.world.pools import POOLS
from chain.history.block_times import (
    first_block_since,
    interpolate_time,
    pick_evenly,
    read_block_times,
)
from chain.protocols.v4 import events
from chain.read.logs import ScanProgress
from chain.rpc.errors import Reorged, StatePruned
from tests.chain.history.all_swaps import read_swaps
from tests.chain.history.conftest import DEVNET, LiveWorld

LiveWorlds = Callable[..., AbstractAsyncContextManager[LiveWorld]]

POOL = POOLS[0].key.pool_id


def swaps_on(live: LiveWorld, pool_id: str) -> list[str]:
    """The transactions that really swapped in the pool, straight from the chain."""
    logs = live.chain.logs(DEVNET.contracts.pool_manager, events.SWAP, pool_id)
    return [log["transactionHash"] for log in logs]


async def test_every_swap_with_its_exact_time(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        head = live.chain.head
        history = await read_swaps(live.client, DEVNET, POOL, 0, head.number)
        found = [timed.swap.place.transaction_hash for timed in history.swaps]
        assert found == swaps_on(live, POOL)
        assert len(found) > 10
        for timed in history.swaps:
            assert timed.time == live.chain.header(timed.swap.place.block_number).timestamp
        assert history.estimated_times == 0
        assert history.last.hash == head.hash
        assert live.client.round_trips == 3


@pytest.mark.parametrize("widest", [1, 7, 40])
async def test_a_node_that_limits_ranges_still_gives_all(
    live_world: LiveWorlds, widest: int
) -> None:
    async with live_world(widest) as live:
        seen: list[ScanProgress] = []
        history = await read_swaps(
            live.client, DEVNET, POOL, 0, live.chain.head.number, watch=seen.append
        )
        assert len(history.swaps) == len(swaps_on(live, POOL))
        assert min(live.log_ranges) <= widest
        assert [progress.scanned for progress in seen] == sorted(p.scanned for p in seen)
        assert seen[-1].fraction == 1


async def test_a_reorg_between_logs_and_times_is_an_error(live_world: LiveWorlds) -> None:
    async with live_world(own_node=True) as live:
        history = await read_swaps(live.client, DEVNET, POOL, 0, live.chain.head.number)
        place = history.swaps[-1].swap.place
        live.chain.reorg(live.chain.head.number - place.block_number + 1)
        with pytest.raises(Reorged):
            await read_block_times(live.client, {place.block_number: place.block_hash}, [])


async def test_blocks_that_do_not_exist_are_an_error(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        with pytest.raises(StatePruned):
            await read_swaps(live.client, DEVNET, POOL, 0, live.chain.head.number + 5)


@pytest.mark.parametrize("seconds_back", [0, 1, 3600, 86_400, 3 * 86_400, 10**9])
async def test_finding_a_block_by_time(live_world: LiveWorlds, seconds_back: int) -> None:
    async with live_world() as live:
        head = await live.client.head()
        since = head.timestamp - seconds_back
        found = await first_block_since(live.client, DEVNET, since, head)
        times = live.times
        assert times[found] <= since or found == DEVNET.first_block
        last_before = max((n for n, time in enumerate(times) if time <= since), default=0)
        assert found <= max(last_before, DEVNET.first_block)
        assert times[last_before] - times[found] <= 0.02 * seconds_back or found == last_before
        assert live.client.round_trips <= 6


async def test_times_beyond_the_cap_are_interpolated_and_marked(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        wanted = {n: live.chain.header(n).hash for n in range(20, 61)}
        times = await read_block_times(live.client, wanted, [], most_exact=5)
        exact = set(wanted) - times.estimated
        assert sorted(exact) == [20, 30, 40, 50, 60]
        for number in wanted:
            if number in exact:
                assert times[number] == live.chain.header(number).timestamp
            low, high = number // 10 * 10, -(-number // 10) * 10
            assert times[low] <= times[number] <= times[high]


def test_spreading_keeps_the_ends() -> None:
    assert pick_evenly([1, 2, 3], 5) == [1, 2, 3]
    assert pick_evenly(list(range(100)), 4) == [0, 33, 66, 99]
    assert interpolate_time([(10, 100), (20, 200)], 15) == 150
