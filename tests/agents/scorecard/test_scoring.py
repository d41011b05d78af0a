"""What an option came to be worth, on hours made by hand."""

import json
import random
import sys
from collections.abc import Sequence
from itertools import pairwise
from statistics import correlation

import pytest
from msgspec import convert, to_builtins

from agents.lp.plan import Candidate, Plan
from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from agents.scorecard.score import AdviceKind, HorizonScore, JudgedBlock, OptionWorths
from agents.scorecard.scoring import (
    DecidedPlan,
    amounts_of,
    earned_fees,
    judged_hours,
    kept_or_closed,
    kind_of,
    price_course,
    price_of,
    score_plan,
    wide_stake,
    worth1,
)
from chain.base.units import DAY, HOUR
from chain.history.events import FeeTerms
from chain.history.fee_rate import LiquidityRange
from chain.history.hours import HourRow, PoolMoment, hour_rows, recent_swap
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.past import SwapEvent
from tests.agents.lp.made_up import TIME, TOKEN0, Market
from tests.agents.lp.one_round import concluded, judged
from tests.agents.lp.second_opinion import waits_beside
from tests.chain.history.exact_fees import range_fees
from tests.chain.history.market import LIQUIDITY, swap_between
from tests.samples import some_of

READ_AT = JudgedBlock(9, "0x" + "99" * 32)
TERMS = FeeTerms(500, ProtocolFee(0, 0))
TICK = -196_256
HELD = Stake(TickRange(TICK - 400, TICK + 400), LIQUIDITY // 1_000)


def swaps_at(ticks: Sequence[int], fee: int = 500) -> list[SwapEvent]:
    roots = [sqrt_price_at_tick(TICK), *(sqrt_price_at_tick(TICK + tick) for tick in ticks)]
    return [swap_between(a, b, fee=fee) for a, b in pairwise(roots)]


def rows_at(
    ticks: Sequence[int], begin: int = TIME, apart: int = HOUR, fee: int = 500
) -> list[HourRow]:
    """A swap to each of these ticks from where the price was, so many seconds apart."""
    timed = [
        recent_swap(swap, begin + apart * place, estimated=False)
        for place, swap in enumerate(swaps_at(ticks, fee), start=1)
    ]
    terms = FeeTerms(fee, ProtocolFee(0, 0))
    return hour_rows(timed, terms, PoolMoment(sqrt_price_at_tick(TICK), LIQUIDITY))


def plan_of(market: Market) -> Plan:
    context = market.position()
    return concluded(context, judged(context))


def choosing(plan: Plan, kind: str, one: Candidate | None) -> Plan:
    assert one is not None
    choice = plan.choice.model_copy(update={"kind": kind, "index": one.index})
    return plan.model_copy(update={"choice": choice, "recommended": one})


def score(plan: Plan, rows: Sequence[HourRow], days: int = 1) -> HorizonScore:
    return score_plan(DecidedPlan(plan, "rules"), days, rows, READ_AT)


def test_hours_are_judged_from_the_first_full_one_on() -> None:
    assert judged_hours(7_200, 1) == (7_200, 7_200 + DAY)
    assert judged_hours(7_201, 7) == (10_800, 10_800 + 7 * DAY)


def test_fees_inside_a_range_are_those_of_its_swaps() -> None:
    ticks = [30, -80, 150, 20, 210, -60]
    course = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at(ticks))
    lower, upper = HELD.ticks
    held = LiquidityRange(sqrt_price_at_tick(lower), sqrt_price_at_tick(upper), HELD.liquidity)
    path = [swap_between(sqrt_price_at_tick(TICK - 1), sqrt_price_at_tick(TICK)), *swaps_at(ticks)]
    for in_pool in (HELD, None):
        exact = range_fees(path, held, TERMS, included=in_pool is not None)
        found = earned_fees(course, HELD, in_pool)
        # A range that was not there shares with what the hour's fees were paid to.
        assert found.fees0 == pytest.approx(exact.fees0, rel=1e-6)
        assert found.fees1 == pytest.approx(exact.fees1, rel=1e-6)


def test_an_hour_that_leaves_the_range_pays_for_its_part_of_the_way() -> None:
    inside = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at([400]))
    beyond = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at([800]))
    paid, more = (earned_fees(one, HELD, HELD).fees1 for one in (inside, beyond))
    assert more == pytest.approx(paid, rel=1e-9)
    below = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at([-500, -900], apart=2 * HOUR))
    left = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at([-500]))
    assert earned_fees(below, HELD, HELD) == earned_fees(left, HELD, HELD)


def test_what_was_reached_decides_whether_a_range_stayed() -> None:
    def stays(*ticks: int) -> bool:
        course = price_course(sqrt_price_at_tick(TICK), TIME, 1, rows_at(ticks))
        return course.stays_in(HELD.ticks)

    assert stays(399, -400, 0)
    assert not stays(400, 0)
    assert not stays(-401, 0)
    late = rows_at([500], begin=judged_hours(TIME, 1).end)
    assert price_course(sqrt_price_at_tick(TICK), TIME, 1, late).stays_in(HELD.ticks)


def test_leaving_is_worth_its_tokens_less_gas_and_holding_what_the_range_holds() -> None:
    plan = plan_of(Market(sigma=0.03))
    assert plan.exit is not None
    scored = score(plan, rows_at([120, 300]))
    last = sqrt_price_at_tick(TICK + 300)
    tokens = Amounts(plan.exit.amount0, plan.exit.amount1)
    assert plan.exit.gas_usd is not None
    assert scored.unit1_usd == pytest.approx(1e-6, rel=1e-5)
    gas1 = plan.exit.gas_usd / 1e-6
    assert scored.worths.exit == pytest.approx(worth1(tokens, last) - gas1, rel=1e-7)
    assert plan.hold.tick_lower is not None
    assert plan.hold.tick_upper is not None
    held = Stake(TickRange(plan.hold.tick_lower, plan.hold.tick_upper), plan.hold.liquidity)
    course = price_course(plan.pools[0].sqrt_price_x96, plan.time, 1, rows_at([120, 300]))
    earned_before = worth1(tokens, last) - worth1(
        Amounts(plan.hold.amount0, plan.hold.amount1), last
    )
    expected = worth1(amounts_of(held, last), last) + earned_before
    expected += earned_fees(course, held, held).worth1(last)
    assert scored.worths.hold == pytest.approx(expected)


def test_a_move_costs_what_its_plan_said_where_nothing_happens() -> None:
    """Its swap and its mint are already in its liquidity, so gas is all that is taken off."""
    plan = plan_of(Market(sigma=0.03, off_centre=1.5))
    swapping = [one for one in plan.candidates if one.prep_action is not None]
    assert swapping
    for move in swapping:
        scored = score(choosing(plan, "move", move), ())
        assert scored.worths.choice is not None
        cost = (scored.worth_before - scored.worths.choice) * 1e-6
        assert cost == pytest.approx(move.cost_usd, rel=0.02)


def test_what_a_move_leaves_in_the_wallet_counts() -> None:
    plan = plan_of(Market(sigma=0.03))
    move = plan.candidates[0]
    richer = move.model_copy(update={"residual0": move.residual0 + 10**18, "residual1": 5})
    plain, more = (score(choosing(plan, "move", one), rows_at([200])) for one in (move, richer))
    assert plain.worths.choice is not None
    assert more.worths.choice is not None
    added = 10**18 * price_of(sqrt_price_at_tick(TICK + 200)) + 5 - move.residual1
    assert more.worths.choice - plain.worths.choice == pytest.approx(added, rel=1e-9)


def test_a_wide_range_pays_the_fee_on_what_it_swaps() -> None:
    root = sqrt_price_at_tick(TICK)
    price = price_of(root)
    for available in (Amounts(10**18, 0), Amounts(0, round(10**18 * price))):
        stake = wide_stake(available, root, TICK, 10, 3_000)
        worth = worth1(amounts_of(stake, root), root)
        half = worth1(available, root) / 2
        assert worth == pytest.approx(2 * half - 0.003 * half, rel=2e-4)
    both = Amounts(10**18, round(10**18 * price))
    stake = wide_stake(both, root, TICK, 10, 3_000)
    assert worth1(amounts_of(stake, root), root) == pytest.approx(worth1(both, root), rel=1e-3)
    low, high = (1.0001 ** (tick - TICK) for tick in stake.ticks)
    assert (low, high) == pytest.approx((1 / 1.2, 1.2), rel=1e-3)


def test_a_wrong_exit_and_a_right_one_are_told_apart() -> None:
    plan = plan_of(Market(sigma=0.03))
    leaving = choosing(plan, "exit", plan.exit)
    paid = rows_at([60, -60] * 600, apart=120)
    # Out at once, hour by hour, which is what arbitrage takes.
    lost = rows_at([2_500])
    wrong, right = score(leaving, paid), score(leaving, lost)
    assert wrong.over_hold is not None
    assert right.over_hold is not None
    assert wrong.over_hold < 0 < right.over_hold
    assert wrong.over_exit is None
    holding = score(choosing(plan, "hold", plan.hold), paid)
    assert holding.over_exit == pytest.approx(-wrong.over_hold)
    assert holding.over_hold is None


def test_chances_and_fees_are_judged_at_the_horizon_they_are_said_for() -> None:
    plan = plan_of(Market(sigma=0.03))
    rows = rows_at([60, -60] * 11)
    day, week, month = (score(plan, rows, days) for days in (1, 7, 30))
    ranges = 1 + len(plan.candidates)
    assert (len(day.stays), len(week.stays), len(month.stays)) == (ranges, ranges, 0)
    assert plan.hold.survival is not None
    assert (day.stays[0].said, week.stays[0].said) == (
        plan.hold.survival.day,
        plan.hold.survival.week,
    )
    assert len(day.fees) == ranges
    assert week.fees == ()


def test_a_range_the_price_was_outside_of_is_promised_nothing() -> None:
    plan = plan_of(Market(sigma=0.03, off_centre=1.5))
    assert plan.hold.fee_high_24h
    day = score(plan, rows_at([60, -60] * 11))
    swapping = [each for each in plan.candidates if not waits_beside(each)]
    assert len(day.stays) == len(day.fees) == len(swapping) == len(plan.candidates) - 1


def test_unknown_prices_leave_what_needs_them_unknown() -> None:
    plan = plan_of(Market(sigma=0.03))
    assert plan.exit is not None
    unpriced = plan.exit.model_copy(update={"gas_usd": None, "cost_usd": None})
    scored = score(
        choosing(plan.model_copy(update={"exit": unpriced}), "hold", plan.hold), rows_at([50])
    )
    assert scored.worths.exit is None
    assert scored.over_exit is None
    assert scored.over("wide", at_last_price=True) is not None


def test_a_new_position_is_judged_against_keeping_the_tokens() -> None:
    context = Market(sigma=0.03, paid=3.0).opening((TOKEN0, 10**18))
    plan = concluded(context, judged(context))
    assert plan.candidates
    created = choosing(plan, "move", plan.candidates[0])
    assert kind_of(created) is AdviceKind.CREATE
    assert kind_of(choosing(plan, "hold", plan.hold)) is AdviceKind.KEEP
    scored = score(created, rows_at([60, -60] * 11))
    last = sqrt_price_at_tick(TICK - 60)
    assert scored.worths.hold == pytest.approx(10**18 * price_of(last))
    assert scored.worths.exit is None
    assert scored.over_hold is not None


def test_what_the_rules_alone_chose_is_judged_beside_it() -> None:
    plan = plan_of(Market(sigma=0.03))
    assert plan.rules_alone.kind == "hold"
    same = score(plan, rows_at([60]))
    assert same.rules_same
    assert same.over_rules is None
    other = score(choosing(plan, "exit", plan.exit), rows_at([60]))
    assert not other.rules_same
    assert other.worths.rules == other.worths.hold
    assert other.over_rules == other.over_hold


def test_a_score_reads_back_as_it_was_written() -> None:
    scored = score(plan_of(Market(sigma=0.03)), rows_at([60, -60]))
    assert convert(json.loads(json.dumps(to_builtins(scored))), HorizonScore) == scored
    assert isinstance(scored.worths, OptionWorths)


def test_a_closed_range_is_held_against_keeping_it() -> None:
    """A fall after a stop: keeping loses more than what came out does; no swap, no difference."""
    start = sqrt_price_at_tick(TICK)
    fallen = price_course(start, TIME, 30, rows_at((-100, -350, -390)))
    still = price_course(start, TIME, 30, [])
    paid = amounts_of(HELD, start)
    stopped, unmoved = kept_or_closed(fallen, HELD), kept_or_closed(still, HELD)
    earned = earned_fees(fallen, HELD, None)

    assert stopped.then == worth1(paid, start)
    assert stopped.closed == worth1(paid, fallen.last)
    assert stopped.kept == pytest.approx(
        worth1(amounts_of(HELD, fallen.last), fallen.last) + earned.worth1(fallen.last)
    )
    assert earned.fees0 > 0
    assert stopped.closed > stopped.kept
    assert unmoved.kept == pytest.approx(unmoved.closed)


def verdicts_and_prices(
    off_centre: float, fee: int, kind: str, weeks: int
) -> tuple[list[float], list[float], list[float]]:
    """Weeks that rise and fall in turn: where the price ended, and what came of it against Keep,
    by fees − LVR − cost and with the tokens at the last price."""
    chance = random.Random(8)
    plan = plan_of(Market(sigma=0.03, half_width=0.1, off_centre=off_centre))
    done = choosing(plan, kind, plan.candidates[0] if kind == "move" else plan.exit)
    prices, verdicts, by_price = [], [], []
    for week in range(weeks):
        tick, drift, ticks = 0.0, (3.0 if week % 2 else -3.0), []
        for _ in range(7 * 24 * 4):
            tick += chance.gauss(drift / 4, 30)
            ticks.append(round(tick))
        scored = score(done, rows_at(ticks, apart=HOUR // 4, fee=fee), 7)
        hedged, at_last = scored.over("hold"), scored.over("hold", at_last_price=True)
        assert hedged is not None
        assert at_last is not None
        prices.append(float(ticks[-1]))
        verdicts.append(hedged)
        by_price.append(at_last)
    return prices, verdicts, by_price


@pytest.mark.parametrize("kind", some_of([("move",), ("exit",)], 1, seed=44))
def test_the_verdict_does_not_follow_the_price(kind: str) -> None:
    prices, verdicts, _ = verdicts_and_prices(0.0, 500, kind, 40)
    assert abs(correlation(prices, verdicts)) <= 0.3


PAYS_ITS_RISK = 1_830
"""Pips that pay such a walk just what arbitrage takes."""


@pytest.mark.soak
@pytest.mark.parametrize("off_centre", [0.5, -0.5, 1.4, -1.6])
def test_off_centre_it_follows_what_the_pool_pays_where_the_price_goes(off_centre: float) -> None:
    """A range to one side is entered or left by direction, and earns there what the pool pays over
    its risk: nothing where that is nothing, and the other way round where it loses."""
    found = {}
    for fee in (PAYS_ITS_RISK // 4, PAYS_ITS_RISK, 2 * PAYS_ITS_RISK):
        prices, verdicts, by_price = verdicts_and_prices(off_centre, fee, "move", 40)
        found[fee] = correlation(prices, verdicts)
        sys.stdout.write(f"\n{off_centre} {fee}: r {found[fee]:+.2f}")
        assert abs(correlation(prices, by_price)) > 0.9
    losing, even, paying = found.values()
    assert abs(even) <= 0.3
    assert losing * paying < -0.2
