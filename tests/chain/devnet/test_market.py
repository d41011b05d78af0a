"""The market: the same on every machine, and each pool pays its own multiple of its risk."""

import hashlib
from itertools import islice, pairwise, takewhile
from math import exp, log
from operator import attrgetter
from time import monotonic

import pytest

from chain.base.units import DAY, PIPS
from chain.contracts.abi import decode, encode_call, topic
from chain.devnet.defaults import DEMO_SEED, DEMO_SPEED
from chain.devnet.live import Clock, LiveWorld
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
    WETH_USDC,
    WETH_USDC_LOW,
    DevnetPool,
    walk_to,
)
from chain.devnet.world.price_path import (
    MILLITICKS,
    Asset,
    Mood,
    seeded_path,
    sqrt_price_at,
)
from chain.devnet.world.worlds import SURE_SWAPS, World, opened_world
from tests.chain.devnet.pool_edge import PoolTrade, PoolWeek, pool_week
from tests.chain.devnet.world_view import View
from tests.chain_view import ChainView


@pytest.fixture(scope="module")
def market() -> SimulatedMarket:
    """What it has walked it keeps."""
    return SimulatedMarket(seeded_path(7))


def test_the_path_is_the_same_to_the_last_digit_everywhere() -> None:
    path = seeded_path(7)
    walked = ",".join(str(path.at(minute)[Asset.ETHER]) for minute in range(0, 20_000, 100))
    # A pinned digest, so that another machine or Python which walks differently is found out.
    assert hashlib.sha256(walked.encode()).hexdigest()[:16] == "7f7d00d4ff8ed2a6"


@pytest.mark.parametrize("milliticks", [0, 1, -1, 999, -195_612_345, 80_712_807])
def test_prices_between_ticks_are_interpolated(milliticks: int) -> None:
    exact = 1.0001 ** (milliticks / MILLITICKS / 2) * 2**96
    assert sqrt_price_at(milliticks) == pytest.approx(exact, rel=1e-8)


def test_both_sizes_of_history_keep_to_their_number_of_swaps_and_are_dense_at_last(
    market: SimulatedMarket,
) -> None:
    closings = market_closings(market)
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
def test_the_last_visit_of_a_day_knows_that_it_is(
    market: SimulatedMarket, size: HistorySize
) -> None:
    live = takewhile(
        lambda visit: visit.time < HISTORY_ENDS + 2 * DAY,
        live_visits(market, HISTORY_ENDS),
    )
    for before, after in pairwise([*history_visits(size), *live]):
        a_new_day = (before.time - MARKET_OPENS) // DAY < (after.time - MARKET_OPENS) // DAY
        assert (before.left == 1) is a_new_day
        assert after.left > before.left if a_new_day else after.left <= before.left


def test_live_visits_do_not_depend_on_when_one_asks(market: SimulatedMarket) -> None:
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


MILLITICKS_SQUARED = 10**14

SEEDS = (DEMO_SEED, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (7, 42)))
PAYING = (WETH_USDC_LOW, WETH_USDC, SLEEPY)
"""The pool that pays its risk, the one that pays twice and the one that pays next to nothing."""

ENTERING = 1.25
LEAVING = 0.85
"""What a pool pays over its risk where moving into it is worth it, and where staying is not."""


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_on_the_chain_itself_pools_pay_so_now_and_on_each_of_three_days(
    seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the demo's own world, from its log; some 3,000 swaps a seed."""
    with opened_world(seed, "week") as world:
        live, chain = _live(world), ChainView(world.node)
        for day in range(4):
            low, high, sleepy = (_week(chain, pool).edge for pool in PAYING)
            with capsys.disabled():
                told = f"seed {seed}, day {day}: {low:.2f}, {high:.2f}, {sleepy:.2f}"
                print(told)  # noqa: T201
            assert 0.95 <= low <= 1.15
            assert high >= 2
            assert sleepy <= 0.3
            if day < 3:
                live.step(DAY)


def test_what_a_pool_has_paid_is_read_from_its_storage(
    small_world: World, chain: ChainView
) -> None:
    """The crowd goes by the fee growth in the pool's storage, which is the fees of its swaps."""
    floor = Floor(chain, small_world.market.prices(HISTORY_ENDS), HISTORY_ENDS)
    for pool in PAYING:
        paid = floor.fees_paid(pool) / MILLITICKS_SQUARED
        # A swap's event has the liquidity it ended in, its fee growth all that it met.
        assert paid == pytest.approx(_week(chain, pool).paid, rel=0.2), pool.name


def test_one_position_should_move_one_stay_and_one_leave(view: View) -> None:
    for name in ("below its range", "above its range"):
        left = view.position(name)
        assert (left.pool, left.in_range) == (WETH_USDC.key, False)
        assert _week(view.chain, WETH_USDC).edge > ENTERING
    for name in ("healthy", "near the edge"):
        kept = view.position(name)
        assert (kept.pool, kept.in_range) == (WETH_USDC_LOW.key, True)
        assert LEAVING < _week(view.chain, WETH_USDC_LOW).edge < ENTERING
    underpaid, week = view.position("underpaid"), _week(view.chain, SLEEPY)
    width = (underpaid.tick_upper - underpaid.tick_lower) * log(1.0001)
    assert underpaid.in_range
    assert width / 2 < log(1.2)
    assert week.edge < LEAVING
    # A range is worth this much less than the full one it stands for.
    loss = (week.risk - week.paid) / (1 - exp(-width / 4))
    assert loss > 0.0015


def _live(world: World) -> LiveWorld:
    """Its market at a stand, going on by steps."""
    return LiveWorld(world, Clock(monotonic, HISTORY_ENDS, 0))


def _week(chain: ChainView, pool: DevnetPool) -> PoolWeek:
    return pool_week(_trades(chain, pool), chain.head.timestamp)


def _trades(chain: ChainView, pool: DevnetPool) -> list[PoolTrade]:
    """From the chain's own log."""
    swap = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
    trades = []
    for log_ in chain.logs(CONTRACTS.pool_manager, swap, pool.key.pool_id):
        amount0, amount1, price, liquidity, _, fee = decode(
            ("int128", "int128", "uint160", "uint128", "int24", "uint24"),
            bytes.fromhex(log_["data"][2:]),
        )
        root = price / 2**96
        paid = -amount0 * root * root if amount0 < 0 else -amount1
        time = int(log_["blockTimestamp"], 16)
        trades.append(PoolTrade(time, root, paid * fee / PIPS, liquidity))
    return trades
