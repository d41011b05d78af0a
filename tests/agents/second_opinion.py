"""The rules of judgment a second time, from the profile's table and a candidate's printed numbers.

Shares no code with what it judges: survival is summed from the series, prices come from ticks.
"""

from __future__ import annotations

from math import exp, log, pi, sin
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agents.lp.facts import CreateContext, MarketContext, ObservedPool
    from agents.lp.plan import Candidate, Plan
    from tests.agents.debating import Argued

    Context = MarketContext | CreateContext

FLOORS = {"conservative": 36.0, "balanced": 24.0, "aggressive": 14.0}
GAS_CEILINGS = {"conservative": 1.2, "balanced": 1.6, "aggressive": 2.4}
LIFE_SHARES = {"conservative": 0.5, "balanced": 0.75, "aggressive": 1.0}
_TERMS = 400


def stays_inside(below: float, above: float, ticks_a_day: float, hours: float) -> float:
    """Σ over odd n of 4/(nπ)·sin(nπ·below/width)·e^(−(nπσ/width)²·t/2)."""
    width = below + above
    total = 0.0
    for term in range(1, 2 * _TERMS, 2):
        decay = (term * pi * ticks_a_day / width) ** 2 * hours / 48
        if decay > 50:
            break
        total += 4 / (term * pi) * sin(term * pi * below / width) * exp(-decay)
    return total


def verdict_on(context: Context, hold: Candidate, move: Candidate) -> str:
    """`accept`, `revise` or `veto`, by the table."""
    profile = context.profile.value
    pool = _pool(context, move).pool
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    assert move.buffer_hours is not None
    assert move.median_life_hours is not None
    if pool.hook_danger == "dangerous" or not move.tick_lower <= pool.tick < move.tick_upper:
        return "veto"
    if move.prep_action is not None and move.prep_action.price_moved > 0.01:
        return "veto"
    floor, ceiling = FLOORS[profile], GAS_CEILINGS[profile]
    buffer = move.buffer_hours.at_1x
    ratio = _gas_over_fees(move)
    if buffer < floor / 2 or (ratio is not None and ratio > 2 * ceiling):
        return "veto"
    latest = LIFE_SHARES[profile] * move.median_life_hours
    pays_back = _break_even(hold, move)
    if buffer < floor or ratio is None or ratio > ceiling or pays_back is None:
        return "revise"
    return "revise" if pays_back > latest else "accept"


def check_numbers(context: Context, move: Candidate) -> None:
    """That the printed buffer, lives and survivals are those of the series."""
    observed = _pool(context, move)
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    assert move.buffer_hours is not None
    assert move.survival is not None
    assert move.median_life_hours is not None
    price = 2 * log(observed.pool.sqrt_price_x96 / 2**96) / log(1.0001)
    below, above = price - move.tick_lower, move.tick_upper - price
    ticks_a_day = observed.market.sigma / log(1.0001)
    if below <= 0 or above <= 0:
        assert move.buffer_hours.at_1x == move.survival.day == 0
        return
    for stress, buffer in enumerate(
        (move.buffer_hours.at_1x, move.buffer_hours.at_2x, move.buffer_hours.at_3x), 1
    ):
        if buffer * (stress * ticks_a_day / (below + above)) ** 2 > 1e-4:
            survived = stays_inside(below, above, stress * ticks_a_day, buffer)
            assert survived == pytest.approx(0.95, abs=2e-3)
    assert stays_inside(below, above, ticks_a_day, 24) == pytest.approx(move.survival.day, abs=2e-3)
    assert stays_inside(below, above, ticks_a_day, 168) == pytest.approx(
        move.survival.week, abs=2e-3
    )


def check_plan(context: Context, plan: Plan) -> None:
    """That every judgment is the rules' own and nothing below a floor is recommended."""
    for move in plan.candidates:
        assert move.judgment is not None
        assert move.judgment.by_rules == verdict_on(context, plan.hold, move), move
        assert move.judgment.reason
        check_numbers(context, move)
    assert plan.choice.reasons
    assert all(plan.choice.reasons)
    if plan.choice.kind != "move":
        return
    chosen = plan.recommended
    assert plan.choice.index is not None
    assert chosen == plan.candidates[plan.choice.index]
    assert chosen.judgment is not None
    allowed = {"accept"} if plan.decided_by == "critic" else {"accept", "revise"}
    assert verdict_on(context, plan.hold, chosen) in allowed
    assert _gain(plan.hold, chosen) > 0


def check_argued(context: Context, argued: Argued, rounds: int = 2) -> None:
    """There is a plan within the rules, and every step towards it was said aloud."""
    plan = argued.plan
    check_plan(context, plan)
    assert 1 <= plan.rounds <= rounds
    spoken = [(str(turn.role), turn.thought.tag) for turn in argued.ended.transcript]
    assert ("scout", "summary") in spoken
    assert spoken.count(("strategist", "propose")) == 1
    assert spoken.count(("strategist", "revise")) == plan.rounds - 1
    assert spoken.count(("critic", "critique")) == plan.rounds
    assert spoken.count(("arbiter", "decision")) == (plan.decided_by == "arbiter")
    verdicts = {"accept", "revise", "veto"}
    judged = sum(role == "critic" and tag in verdicts for role, tag in spoken)
    assert judged == len(plan.rejected) + (plan.choice.kind == "move")
    # Whatever was not chosen stands there with the reason why.
    assert all(rejected.why for rejected in plan.rejected)


def _pool(context: Context, move: Candidate) -> ObservedPool:
    if context.mode == "rebalance":
        return context.observed
    (found,) = (one for one in context.surveyed_pools if one.pool.pool_id == move.pool_id)
    return found


def _gas_over_fees(move: Candidate) -> float | None:
    """Infinite where nothing is earned for it."""
    if move.gas_usd is None or move.fee_yield_24h is None:
        return None
    return move.gas_usd / move.fee_yield_24h if move.fee_yield_24h else float("inf")


def _gain(hold: Candidate, move: Candidate) -> float:
    held, moved = (
        None
        if one.fee_yield_24h is None or one.lvr_24h is None
        else one.fee_yield_24h - one.lvr_24h
        for one in (hold, move)
    )
    return float("-inf") if held is None or moved is None else moved - held


def _break_even(hold: Candidate, move: Candidate) -> float | None:
    gain = _gain(hold, move)
    if move.cost_usd == 0:
        return 0.0
    if move.cost_usd is None or gain <= 0:
        return None
    return 24 * move.cost_usd / gain
