"""The market: the same on every machine, coherent between pools, at times worth providing for."""

import hashlib
from collections.abc import Callable
from itertools import islice, pairwise, takewhile
from math import sqrt
from operator import attrgetter

import pytest

from chain.base.units import DAY
from chain.contracts.abi import decode, encode_call
from chain.devnet.defaults import DEMO_SEED, DEMO_SPEED
from chain.devnet.live import Clock
from chain.devnet.world.accounts import ARBITRAGEUR
from chain.devnet.world.demo_life import DemoLife
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import (
    DENSE_BEGINS,
    HISTORY_ENDS,
    MARKET_OPENS,
    SMALL_SIZE,
    WEEK_SIZE,
    Floor,
    HistorySize,
    PlannedSwap,
    SimulatedMarket,
    history_visits,
    live_visits,
    market_closings,
    point_of,
    reader,
)
from chain.devnet.world.pools import (
    DYNAMIC,
    ETH_USDC,
    POOLS,
    SLEEPY,
    STABLE,
    WETH_USDC_LOW,
    DevnetPool,
    walk_to,
)
from chain.devnet.world.price_path import (
    MILLITICKS,
    ONE_SIGMA,
    Asset,
    Calendar,
    Draws,
    Mood,
    seeded_path,
    sqrt_price_at,
)
from chain.devnet.world.worlds import SURE_SWAPS, World
from tests.chain.devnet.paper_market import before_trading, paper_week
from tests.chain_view import ChainView

BUSY = tuple(pool for pool in POOLS if pool is not SLEEPY)


def test_draws_are_nearly_normal_and_depend_on_seed_purpose_and_index() -> None:
    draws = Draws(1)
    sample = [draws.normal("x", index) / ONE_SIGMA for index in range(20_000)]
    mean = sum(sample) / len(sample)
    assert abs(mean) < 0.03
    assert abs(sqrt(sum(value**2 for value in sample) / len(sample)) - 1) < 0.02
    assert 0.94 < sum(abs(value) < 1.96 for value in sample) / len(sample) < 0.96
    assert len({Draws(1).normal("x", 0), Draws(2).normal("x", 0), Draws(1).normal("y", 0)}) == 3


def test_phases_follow_each_other_without_gaps_and_every_mood_comes_each_week() -> None:
    phases = Calendar(Draws(3)).until(60 * 24 * 28)
    assert all(before.end == after.start for before, after in pairwise(phases))
    for week in range(4):
        moods = {phase.mood for phase in phases if phase.start // (60 * 24 * 7) == week}
        assert moods == set(Mood)


def test_the_path_is_the_same_to_the_last_digit_everywhere() -> None:
    path = seeded_path(7)
    walked = ",".join(str(path.at(minute)[Asset.ETHER]) for minute in range(0, 20_000, 100))
    # A pinned digest, so that another machine or Python which walks differently is found out.
    assert hashlib.sha256(walked.encode()).hexdigest()[:16] == "7f7d00d4ff8ed2a6"


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_price_wanders_both_ways_and_moves_by_percents(seed: int) -> None:
    path = seeded_path(seed)
    week = [path.at(minute)[Asset.ETHER] / (100 * MILLITICKS) for minute in range(7 * 1440 + 1)]
    high, low = path.early_extremes()
    assert week[high] > week[-1] + 3.5
    assert week[low] < week[-1] - 3.5
    daily = sqrt(sum((after - before) ** 2 for before, after in pairwise(week)) / 7)
    assert 1 < daily < 3
    assert max(abs(after - before) for before, after in pairwise(week)) < 1.5


@pytest.mark.parametrize("milliticks", [0, 1, -1, 999, -195_612_345, 80_712_807])
def test_prices_between_ticks_are_interpolated(milliticks: int) -> None:
    exact = 1.0001 ** (milliticks / MILLITICKS / 2) * 2**96
    assert sqrt_price_at(milliticks) == pytest.approx(exact, rel=1e-8)


def test_both_sizes_of_history_keep_to_their_number_of_swaps_and_are_dense_at_last() -> None:
    closings = market_closings(SimulatedMarket(seeded_path(7)))
    for size in (WEEK_SIZE, SMALL_SIZE):
        visits = history_visits(size)
        times = [visit.time for visit in visits]
        assert times[0] > MARKET_OPENS
        assert times[-1] < HISTORY_ENDS
        assert all(before < after for before, after in pairwise(times))
        last_day = sum(time > DENSE_BEGINS for time in times)
        assert last_day >= 4 * (len(times) - last_day) / 6
        closed = sum(len(closing.pools) for closing in closings)
        assert SURE_SWAPS * len(visits) + closed <= size.most_swaps


@pytest.mark.parametrize("size", [WEEK_SIZE, SMALL_SIZE])
def test_the_last_visit_of_a_day_knows_that_it_is(size: HistorySize) -> None:
    live = takewhile(
        lambda visit: visit.time < HISTORY_ENDS + 2 * DAY,
        live_visits(SimulatedMarket(seeded_path(7)), HISTORY_ENDS),
    )
    for before, after in pairwise([*history_visits(size), *live]):
        a_new_day = (before.time - MARKET_OPENS) // DAY < (after.time - MARKET_OPENS) // DAY
        assert (before.left == 1) is a_new_day
        assert after.left > before.left if a_new_day else after.left <= before.left


def test_live_visits_do_not_depend_on_when_one_asks() -> None:
    market = SimulatedMarket(seeded_path(7))
    first = list(islice(live_visits(market, HISTORY_ENDS), 200))
    assert list(islice(live_visits(market, first[99].time), 100)) == first[100:]
    gaps: dict[Mood, list[int]] = {mood: [] for mood in Mood}
    for before, after in pairwise(islice(live_visits(market, HISTORY_ENDS), 1_000)):
        gaps[market.phase(after.time).mood].append(after.time - before.time)
    mean = {mood: sum(each) / len(each) for mood, each in gaps.items()}
    assert mean[Mood.SHOCK] < 150 < 300 < mean[Mood.CALM]


def test_in_the_demo_a_position_leaves_its_range_within_the_first_minute() -> None:
    edge = DemoLife(SimulatedMarket(seeded_path(DEMO_SEED))).edge()
    assert 10 < (edge.leaves - HISTORY_ENDS) / DEMO_SPEED < 55


@pytest.mark.parametrize("seed", [1, 2, 3, 7])
def test_calm_pays_more_than_it_takes_and_shock_less(
    seed: int, chain: ChainView, record_property: Callable[[str, object], None]
) -> None:
    book = paper_week(SimulatedMarket(seeded_path(seed)), before_trading(chain))
    assert 900 < book.swaps <= WEEK_SIZE.most_swaps
    for mood in Mood:
        takings = book.total(mood, BUSY)
        record_property(str(mood), f"fees {takings.fees:.0f}, lost {takings.lost:.0f} dollars")
    for pool in BUSY:
        calm = book.takings[pool.name, Mood.CALM]
        assert calm.fees > 1.2 * calm.lost, pool.name
    shock = book.total(Mood.SHOCK, BUSY)
    assert shock.fees < 0.8 * shock.lost
    whole_week = [book.takings[SLEEPY.name, mood] for mood in Mood]
    assert sum(part.fees for part in whole_week) < 0.5 * sum(part.lost for part in whole_week)


@pytest.mark.parametrize("ticks", [-1500, -37, -1, 1, 4, 260, 1200])
@pytest.mark.parametrize("pool", [WETH_USDC_LOW, ETH_USDC, STABLE, DYNAMIC], ids=attrgetter("name"))
def test_a_walk_foretells_the_swap(chain: ChainView, pool: DevnetPool, ticks: int) -> None:
    """Across initialised ticks, with a protocol fee, in both directions, paid in ether or not."""
    start = point_of(chain, pool)
    target = sqrt_price_at((start.tick + ticks) * MILLITICKS + MILLITICKS // 2)
    walk = walk_to(reader(chain), start, target)
    assert walk.zero_for_one == (ticks < 0)

    quote = _quote(pool, walk.zero_for_one, walk.amount_in)
    amount_out, _ = decode(("uint256", "uint256"), chain.call(CONTRACTS.quoter, quote).output)
    # The input is whole units, each of which buys this much.
    unit = walk.amount_out // walk.amount_in + 1
    assert 0 <= amount_out - walk.amount_out <= 2 * unit

    intent = PlannedSwap(ARBITRAGEUR, pool, start, walk, HISTORY_ENDS + 100).intent
    sent = chain.apply(intent.account.address, intent.to, intent.data, value=intent.value)
    assert sent.success
    end = point_of(chain, pool)
    assert end.sqrt_price_x96 == pytest.approx(target, rel=1e-11)
    assert (end.tick, end.liquidity) == (walk.end.tick, walk.end.liquidity)


def test_all_pools_agree_on_the_price_within_their_fees(
    small_world: World, chain: ChainView
) -> None:
    market = small_world.market
    floor = Floor(chain, market.prices(HISTORY_ENDS), HISTORY_ENDS)
    for pool in POOLS:
        off = abs(floor.milliticks(pool) - pool.milliticks(market.prices(HISTORY_ENDS)))
        pips = max(floor.point(pool).fee(zero_for_one=side) for side in (True, False))
        assert off <= pips * MILLITICKS // 100 + 1, pool.name


def test_the_clock_runs_at_its_speed_stands_when_paused_and_can_be_set() -> None:
    wall = [100.0]
    clock = Clock(lambda: wall[0], 1_000, 60)
    wall[0] += 2
    assert clock.now() == 1_120
    assert clock.wait_for(1_180) == 1
    clock.set_speed(0)
    wall[0] += 50
    assert clock.now() == 1_120
    assert clock.wait_for(1_121) == float("inf")
    clock.set_time(2_000)
    clock.set_speed(0.5)
    wall[0] += 10
    assert clock.now() == 2_005


def _quote(pool: DevnetPool, zero_for_one: bool, amount: int) -> bytes:
    signature = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"
    return encode_call(signature, (pool.key.values, zero_for_one, amount, b""))
