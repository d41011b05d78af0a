"""A range taken along the way the price went: what the exact integers say, small enough to send."""

import random

import pytest

from agents.lp.facts import path_steps
from agents.lp.observe.pool_facts import day_path, week_path
from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake, loss_along, replay_range
from chain.base.units import DAY, HOUR
from chain.history.events import FeeTerms
from chain.history.fee_rate import LiquidityRange, realised_lvr
from chain.history.hours import PoolHours, RecentSwap, recent_swap
from chain.math.fees import ProtocolFee
from chain.math.ticks import sqrt_price_at_tick
from chain.rpc.records import Block
from tests.chain.history.all_swaps import pool_hours
from tests.chain.history.exact_fees import range_fees
from tests.chain.history.market import LIQUIDITY, POOL, swaps_through

END = 1_760_004_000
BLOCK = Block(900, "0x" + "aa" * 32, "0x" + "bb" * 32, END, 1, 0, 1)
TERMS = FeeTerms(3000, ProtocolFee(0, 0))
NARROW = TickRange(-60, 60)


def walked(count: int, seconds: int, reach: int = 25) -> list[RecentSwap]:
    """Swaps of a price that wanders around tick 0, the last of them just now."""
    random_ = random.Random(5)
    tick, prices = 0, []
    for _ in range(count):
        tick += random_.randint(-reach, reach) - tick // 20
        prices.append(sqrt_price_at_tick(tick) + random_.randint(1, 10**9))
    times = [END - seconds + round(seconds * (place + 1) / count) for place in range(count)]
    swaps = swaps_through(prices)
    return [recent_swap(one, time, estimated=False) for one, time in zip(swaps, times, strict=True)]


def hours_of(swaps: list[RecentSwap]) -> PoolHours:
    return pool_hours(POOL, 0, BLOCK, swaps, TERMS)


def worth(fees0: int, fees1: int) -> float:
    return fees0 + fees1  # The price stays within a per cent of one.


def exactly(stake: Stake) -> LiquidityRange:
    ticks = stake.ticks
    return LiquidityRange(
        sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper), stake.liquidity
    )


@pytest.mark.parametrize("liquidity", [LIQUIDITY // 1000, LIQUIDITY])
@pytest.mark.parametrize("ticks", [NARROW, TickRange(-6000, 6000), TickRange(0, 30)])
def test_a_day_swap_by_swap_is_what_exact_integers_say(liquidity: int, ticks: TickRange) -> None:
    swaps = walked(400, DAY + HOUR // 2)
    hours, stake = hours_of(swaps), Stake(ticks, liquidity)
    now = swaps[-1].sqrt_price_x96
    path = day_path(hours, TERMS, now, most=1000)
    assert path is not None
    day = hours.last_day()
    assert path.swaps == len(path.steps) == len(day)
    steps = path_steps(path, now)
    found = replay_range(steps, stake)
    since = swaps[-len(day) - 1 :]
    fees = range_fees(since, exactly(stake), TERMS, included=False)
    assert found.fees == pytest.approx(worth(fees.fees0, fees.fees1), rel=0.01)
    lost = realised_lvr([one.sqrt_price_x96 for one in since], exactly(stake))
    # By every step, noise that came back is counted as loss, too.
    by_step = loss_along([steps[0].opening, *(step.close for step in steps)], stake)
    assert by_step == pytest.approx(lost, rel=1e-3)
    assert 0 < found.lvr < by_step
    kept = replay_range(steps, stake, held=stake)
    own = range_fees(since, exactly(stake), TERMS, included=True)
    assert kept.fees == pytest.approx(worth(own.fees0, own.fees1), rel=0.01)
    assert (found.in_range_share > 0.999) == (ticks.upper == 6000)


def test_whoever_moves_does_not_share_with_what_is_left_behind() -> None:
    swaps = walked(300, DAY)
    now = swaps[-1].sqrt_price_x96
    path = day_path(hours_of(swaps), TERMS, now, most=1000)
    assert path is not None
    steps = path_steps(path, now)
    held, move = Stake(TickRange(-6000, 6000), LIQUIDITY // 2), Stake(NARROW, LIQUIDITY // 2)
    alone, instead = replay_range(steps, move), replay_range(steps, move, held)
    assert instead.fees == pytest.approx(alone.fees * 1.5, rel=1e-6)
    assert instead.lvr == alone.lvr


def test_many_swaps_are_put_together_without_losing_what_they_paid() -> None:
    swaps = walked(5000, DAY, reach=3)
    now, hours = swaps[-1].sqrt_price_x96, hours_of(swaps)
    whole, thinned = (day_path(hours, TERMS, now, most) for most in (10_000, 300))
    assert whole is not None
    assert thinned is not None
    assert len(thinned.steps) <= 300 < thinned.swaps == whole.swaps
    wide = Stake(TickRange(-6000, 6000), LIQUIDITY // 10)
    each, together = (replay_range(path_steps(path, now), wide) for path in (whole, thinned))
    assert together.fees == pytest.approx(each.fees, rel=1e-3)
    # Hours end at the last of several swaps: a few minutes more or less of a noisy path.
    assert 0.5 < together.lvr / each.lvr < 2


def test_a_week_by_its_hours() -> None:
    swaps = walked(3000, 190 * HOUR)
    now, hours = swaps[-1].sqrt_price_x96, hours_of(swaps)
    path = week_path(hours, now)
    assert path is not None
    assert len(path.steps) == 168
    wide = Stake(TickRange(-6000, 6000), LIQUIDITY // 1000)
    found = replay_range(path_steps(path, now), wide)
    begin = END - END % HOUR - 167 * HOUR
    since = [one for one in swaps if one.time >= begin]
    before = swaps[len(swaps) - len(since) - 1]
    fees = range_fees([before, *since], exactly(wide), TERMS, included=False)
    assert found.fees == pytest.approx(worth(fees.fees0, fees.fees1), rel=0.02)
    closes = [before.sqrt_price_x96, *(row.close for row in hours.rows if row.hour >= begin)]
    assert found.lvr == pytest.approx(realised_lvr(closes, exactly(wide)), rel=1e-3)


def test_paths_fit_into_an_envelope_with_those_of_eleven_other_pools() -> None:
    swaps = walked(20_000, 8 * DAY, reach=3)
    now, hours = swaps[-1].sqrt_price_x96, hours_of(swaps)
    one, few = (day_path(hours, TERMS, now, most) for most in (1000, 83))
    week = week_path(hours, now)
    assert one is not None
    assert few is not None
    assert week is not None
    assert len(one.model_dump_json()) + len(week.model_dump_json()) < 130_000
    assert 12 * (len(few.model_dump_json()) + len(week.model_dump_json())) < 400_000


def test_of_a_pool_nobody_swapped_in_there_is_no_path() -> None:
    assert day_path(hours_of([]), TERMS, 1 << 96, most=10) is None
    assert week_path(hours_of([]), 1 << 96) is None
    assert replay_range((), Stake(NARROW, 1)) == (0.0, 0.0, 0.0, 0)
