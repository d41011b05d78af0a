"""Each pool pays its own multiple of its risk, so that some position should move, stay or leave."""

from collections import defaultdict
from math import exp, log
from time import monotonic

import pytest

from chain.base.units import DAY, HOUR, PIPS
from chain.contracts.abi import decode, topic
from chain.devnet.defaults import DEMO_SEED
from chain.devnet.live import Clock, LiveWorld
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import HISTORY_ENDS, Floor, SimulatedMarket
from chain.devnet.world.pools import POOLS, SLEEPY, WETH_USDC, WETH_USDC_LOW, DevnetPool
from chain.devnet.world.price_path import seeded_path
from chain.devnet.world.worlds import World, opened_world
from tests.chain.devnet.paper_market import (
    KeptStorage,
    PaperState,
    before_trading,
    live_paper_swaps,
    paper_swaps,
    traded,
)
from tests.chain.devnet.pool_edge import PoolTrade, PoolWeek, pool_week
from tests.chain.devnet.world_view import View
from tests.chain_view import ChainView, own_small_world

MILLITICKS_SQUARED = 10**14

SEEDS = (DEMO_SEED, 7, 42)
PAYING = (WETH_USDC_LOW, WETH_USDC, SLEEPY)
"""The pool that pays its risk, the one that pays twice and the one that pays next to nothing."""

ENTERING = 1.25
LEAVING = 0.85
"""What a pool pays over its risk where moving into it is worth it, and where staying is not."""


@pytest.mark.parametrize("seed", SEEDS)
def test_one_pool_pays_its_risk_one_twice_and_one_next_to_nothing_now_and_after_three_days(
    seed: int, chain: ChainView
) -> None:
    market = SimulatedMarket(seeded_path(seed))
    trades: dict[DevnetPool, list[PoolTrade]] = defaultdict(list)
    later = HISTORY_ENDS + 3 * DAY
    for time, swap in paper_swaps(market, before_trading(chain), until=later):
        trades[swap.pool].append(traded(time, swap))
    for time in (HISTORY_ENDS, later):
        assert 0.95 <= pool_week(trades[WETH_USDC_LOW], time).edge <= 1.15
        assert pool_week(trades[WETH_USDC], time).edge >= 2
        assert pool_week(trades[SLEEPY], time).edge <= 0.3


def test_the_live_market_trades_on_the_chain_as_on_paper() -> None:
    """Swap by swap, so that what pools pay on paper is what they pay on the chain."""
    with own_small_world() as (world, chain):
        _compare_half_an_hour(world, chain)


def _compare_half_an_hour(world: World, chain: ChainView) -> None:
    live, state = _live(world), PaperState(KeptStorage(chain, chain.head.number))
    live.step(HOUR // 2)
    paper: dict[DevnetPool, list[PoolTrade]] = defaultdict(list)
    for time, swap in live_paper_swaps(world.market, state, until=live.head_time):
        paper[swap.pool].append(traded(time, swap))
    assert sum(map(len, paper.values())) > 10
    prices, until = world.market.prices(live.head_time), live.head_time
    on_chain, on_paper = (Floor(one, prices, until) for one in (chain, state))
    for pool in POOLS:
        happened = [trade for trade in _trades(chain, pool) if trade.time > HISTORY_ENDS]
        assert [one.time for one in happened] == [one.time for one in paper[pool]], pool.name
        assert on_chain.fees_paid(pool) == pytest.approx(on_paper.fees_paid(pool), rel=1e-3), (
            pool.name
        )
        assert on_chain.milliticks(pool) == pytest.approx(on_paper.milliticks(pool), abs=1_000)


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
