"""A pool's swaps and hours read through JSON-RPC: all of them, whatever is killed or replaced."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from math import log

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR
from chain.devnet.world.pools import POOLS
from chain.history.block_times import (
    first_block_since,
    interpolate_time,
    pick_evenly,
    read_block_times,
)
from chain.history.events import FeeTerms, fees
from chain.history.hour_reader import HourMemory, forget_hours, read_hours
from chain.history.hours import KeptHours, Landmark, PoolHours, hour_of, hour_rows, recent_swap
from chain.math.fees import ProtocolFee
from chain.protocols.v4 import events
from chain.read.logs import ScanProgress
from chain.rpc.errors import Reorged, StatePruned
from chain.rpc.records import Block
from tests.chain.history.all_swaps import pool_hours, read_swaps
from tests.chain.history.conftest import DEVNET, LiveWorld
from tests.chain.history.market import swap_between
from tests.samples import some_of

LiveWorlds = Callable[..., AbstractAsyncContextManager[LiveWorld]]

WEEK = 8 * DAY
TERMS = {pool.key.pool_id: FeeTerms(pool.key.fee, ProtocolFee(0, 0)) for pool in POOLS}
POOL = POOLS[0].key.pool_id
ONE = {POOL: TERMS[POOL]}


def memory(store: Store | None = None) -> HourMemory:
    return HourMemory(store or Store.in_memory(), DEVNET, clock=lambda: 0.0)


async def counted(live: LiveWorld, pool: str, hours: PoolHours) -> PoolHours:
    """The same from all swaps at once, as if nothing was ever saved or put together."""
    history = await read_swaps(live.client, DEVNET, pool, 0, hours.last.number, most_exact=5000)
    swaps = [
        recent_swap(one.swap, one.time, estimated=False)
        for one in history.swaps
        if one.time >= hours.since
    ]
    return pool_hours(pool, hours.since, hours.last, swaps, TERMS[pool], hours.opening)


def same(found: PoolHours, expected: PoolHours) -> bool:
    """Everything to the unit, sums of floats but for the order they were added in."""
    exact = [(row.hour, row.close, row.low, row.high, row.fees0, row.fees1) for row in found.rows]
    assert exact == [
        (row.hour, row.close, row.low, row.high, row.fees0, row.fees1) for row in expected.rows
    ]
    assert [row.swaps for row in found.rows] == [row.swaps for row in expected.rows]
    for mine, its in zip(found.rows, expected.rows, strict=True):
        rates = mine.growth0, mine.growth1, mine.fee_rate
        assert rates == pytest.approx((its.growth0, its.growth1, its.fee_rate), rel=1e-9)
    return (found.recent, found.recent_since) == (expected.recent, expected.recent_since)


async def header(live: LiveWorld, number: int) -> Block:
    (found,) = ((await read_swaps(live.client, DEVNET, POOL, number, number)).first,)
    return found


@pytest.mark.parametrize("widest", [None, 40])
async def test_pools_read_together_are_what_their_swaps_say(
    live_world: LiveWorlds, widest: int | None
) -> None:
    async with live_world(widest) as live:
        seen: list[ScanProgress] = []
        found = await read_hours(
            live.client, DEVNET, TERMS, WEEK, memory=memory(), watch=seen.append
        )
        assert found.keys() == TERMS.keys()
        for pool, hours in found.items():
            assert same(hours, await counted(live, pool, hours))
            assert not any(row.estimated for row in hours.rows)
        busy = found[POOL]
        assert len(busy.rows) > 12
        assert busy.recent
        assert seen[-1].fraction == 1


async def test_only_new_blocks_are_asked_for(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store, head = Store.in_memory(), live.chain.head.number
        earlier = await header(live, head - 9)
        few = dict(list(TERMS.items())[:3])
        await read_hours(live.client, DEVNET, few, WEEK, memory=memory(store), head=earlier)
        live.log_ranges.clear()
        grown = await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(store))
        beginnings, known, new = live.log_ranges
        assert known == 9
        assert beginnings == new > 9, "a pool met for the first time is read by itself"
        for pool, hours in grown.items():
            assert same(hours, await counted(live, pool, hours))
        live.log_ranges.clear()
        again = await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(store))
        assert live.log_ranges == []
        assert again == grown


async def test_more_than_is_kept_is_read_anew_and_less_is_not(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store = Store.in_memory()
        day = await read_hours(live.client, DEVNET, ONE, DAY, memory=memory(store))
        week = await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store))
        assert week[POOL].since < day[POOL].since
        assert week[POOL].swaps > day[POOL].swaps
        live.log_ranges.clear()
        assert await read_hours(live.client, DEVNET, ONE, DAY, memory=memory(store)) == week
        assert live.log_ranges == []


class KilledError(Exception):
    pass


@pytest.mark.parametrize("ranges", some_of([(1,), (2,), (5,)], 1, seed=44))
async def test_a_read_that_was_killed_goes_on_where_it_stopped(
    live_world: LiveWorlds, ranges: int
) -> None:
    async with live_world(7) as live:
        store, whole = Store.in_memory(), memory()
        seen: list[ScanProgress] = []

        def kill(progress: ScanProgress) -> None:
            seen.append(progress)
            if len(seen) == ranges:
                raise KilledError

        with pytest.raises(KilledError):
            await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), watch=kill)
        stopped = seen[-1].scanned
        seen.clear()
        found = await read_hours(
            live.client, DEVNET, ONE, WEEK, memory=memory(store), watch=seen.append
        )
        assert seen[0].first == stopped + 1
        fresh = await read_hours(live.client, DEVNET, ONE, WEEK, memory=whole)
        assert same(found[POOL], fresh[POOL])


class TornStore(Store):
    """Dies between the swaps and the rows that count them."""

    torn = False

    def put_many(self, namespace: str, values: dict[str, object], *, now: float) -> None:  # type: ignore[override]
        if self.torn and namespace == "hours by move":
            raise KilledError
        super().put_many(namespace, values, now=now)


async def test_a_kill_between_swaps_and_rows_changes_nothing(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store = TornStore.in_memory()
        assert isinstance(store, TornStore)
        earlier = await header(live, live.chain.head.number - 30)
        await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), head=earlier)
        store.torn = True
        with pytest.raises(KilledError):
            await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store))
        store.torn = False
        found = (await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store)))[POOL]
        assert same(found, await counted(live, POOL, found))


@pytest.mark.parametrize("depth", some_of([(3,), (40,), (400,)], 1, seed=44))
async def test_a_reorganised_chain_is_read_back_to_where_it_is_the_same(
    live_world: LiveWorlds, depth: int
) -> None:
    async with live_world(own_node=True) as live:
        store, head = Store.in_memory(), live.chain.head.number
        for back in (60, 20, 5, 0):
            at = await header(live, head - back)
            before = await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), head=at)
        live.chain.reorg(min(depth, head - 1))
        live.log_ranges.clear()
        after = (await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store)))[POOL]
        assert after.last.hash != before[POOL].last.hash
        assert same(after, await counted(live, POOL, after))
        if depth == 3:
            assert live.log_ranges[0] <= 6, "what the chain still has is not read again"


async def test_lost_swaps_take_the_memory_back_to_before_them(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store, head = Store.in_memory(), live.chain.head.number
        for back in (40, 0):
            at = await header(live, head - back)
            found = await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), head=at)
        newest = hour_of(found[POOL].recent[-1].time)
        for key in [*store.items("proved swaps")]:
            if key.endswith(f"/{newest}"):
                store.put("proved swaps", key, "damaged", now=0.0)
        kept = memory(store).load(POOL, TERMS[POOL])
        assert kept is None or kept.last.number < head
        again = await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store))
        assert same(again[POOL], found[POOL])


async def test_an_earlier_block_than_the_newest_that_was_read(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store = Store.in_memory()
        await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store))
        earlier = await header(live, live.chain.head.number - 7)
        live.log_ranges.clear()
        found = await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), head=earlier)
        assert live.log_ranges == []
        assert found[POOL].last == earlier
        expected = await counted(live, POOL, found[POOL])
        assert [row.swaps for row in found[POOL].rows] == [row.swaps for row in expected.rows]


async def test_a_head_the_node_lost_is_an_error(live_world: LiveWorlds) -> None:
    async with live_world(own_node=True) as live:
        gone = await live.client.head()
        live.chain.rollback(12)
        with pytest.raises(StatePruned):
            await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(), head=gone)


async def test_of_no_pools_there_is_nothing_to_read(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        assert await read_hours(live.client, DEVNET, {}, WEEK, memory=memory()) == {}
        assert live.log_ranges == []


async def test_swaps_of_a_day_are_kept_one_by_one_and_older_ones_let_go(
    live_world: LiveWorlds,
) -> None:
    async with live_world() as live:
        store, head = Store.in_memory(), live.chain.head
        half = next(n for n, time in enumerate(live.times) if time > head.timestamp - 2 * DAY)
        earlier = await header(live, half)
        await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store), head=earlier)
        early = {int(key.rsplit("/", 1)[1]) for key in store.items("proved swaps")}
        found = (await read_hours(live.client, DEVNET, ONE, WEEK, memory=memory(store)))[POOL]
        late = {int(key.rsplit("/", 1)[1]) for key in store.items("proved swaps")}
        assert early
        assert min(late) >= found.recent_since == hour_of(head.timestamp - DAY - HOUR)
        assert all(one.time > head.timestamp - DAY for one in found.last_day())
        assert forget_hours(store, before=1.0) == 1
        assert not store.items("proved swaps")


def test_rates_are_of_the_liquidity_each_swap_met() -> None:
    terms = FeeTerms(3000, ProtocolFee(0, 0))
    root = 1 << 96
    swaps = [
        recent_swap(swap_between(root, root + (root >> 10), 1), HOUR + 5, estimated=False),
        recent_swap(
            swap_between(root + (root >> 10), root, 2, liquidity=10**18), HOUR + 9, estimated=True
        ),
        recent_swap(swap_between(root, root + (root >> 9), 3), 3 * HOUR, estimated=False),
    ]
    first, last = hour_rows(swaps, terms)
    assert (first.hour, first.swaps, first.estimated) == (HOUR, 2, 1)
    assert (last.hour, last.swaps) == (3 * HOUR, 1)
    assert (first.low, first.high, first.close) == (root, root + (root >> 10), root)
    paid = fees(swaps[:2], terms)
    assert (first.fees0, first.fees1) == (paid.providers0, paid.providers1)
    up = swaps[0].sqrt_price_x96 / root
    expected = paid.providers1 / (2 * 10**20 * up) + 3_000 / 997_000 * log(up) / 2
    assert first.fee_rate == pytest.approx(expected, rel=1e-12)
    # The first swap's start is not known: by the liquidity after it. Then by the way of the price.
    assert first.growth1 == pytest.approx(paid.providers1 / 10**20, rel=1e-12)
    assert first.growth0 == pytest.approx(paid.providers0 / 10**18, rel=1e-9)
    assert last.growth1 == pytest.approx(fees(swaps[2:], terms).providers1 / 10**20, rel=1e-9)


def test_rows_that_are_let_go_leave_the_price_they_closed_with() -> None:
    terms, root = FeeTerms(3000, ProtocolFee(0, 0)), 1 << 96
    roots = [root, root + 10**20, root + 10**21]
    swaps = [
        recent_swap(swap_between(start, end, hour), hour * HOUR, estimated=False)
        for hour, (start, end) in enumerate(pairwise(roots), start=1)
    ]
    rows = tuple(hour_rows(swaps, terms))
    whole = KeptHours(HOUR, True, Landmark(9, "0x9", 3 * HOUR), (), rows, (), 0, opening=root)
    assert whole.without_rows_before(HOUR).opening == root
    later = whole.without_rows_before(2 * HOUR)
    assert (later.rows, later.opening) == (rows[1:], rows[0].close)
    # An earlier block is told again by the way from where it all began, whoever was there after.
    drained = replace(whole, recent=(replace(swaps[0], liquidity=1), swaps[1]))
    again = drained.rolled_back(Landmark(1, "0x1", HOUR + 1), terms)
    assert again is not None
    way = (roots[1] - root) / root
    assert again.rows[0].growth1 == pytest.approx(way * 3_000 / 997_000, rel=1e-9)


def test_a_swap_that_ends_without_liquidity_counts_by_what_was_there_before() -> None:
    terms = FeeTerms(3000, ProtocolFee(0, 0))
    root = 1 << 96
    before = recent_swap(swap_between(root, root + 10**20), 10, estimated=False)
    drained = recent_swap(swap_between(root, root + 10**24, liquidity=10**18), 20, estimated=False)
    empty = replace(drained, liquidity=0)
    [known] = hour_rows([before, empty], terms)
    [alone] = hour_rows([empty], terms)
    paid = fees([empty], terms).providers1
    assert known.fee_rate > alone.fee_rate
    assert known.fees1 == paid + fees([before], terms).providers1
    assert (alone.fees1, alone.growth1, alone.fee_rate) == (paid, 0.0, 0.0)


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
