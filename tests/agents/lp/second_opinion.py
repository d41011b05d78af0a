"""The rules of judgment a second time, from the profile's table and a candidate's printed numbers.

Shares no code with what it judges: survival is summed from the series, prices come from ticks.
"""

from math import erfc, exp, inf, isnan, log, nan, pi, sin, sqrt

import pytest
from numpy.polynomial.hermite_e import hermegauss

from agents.lp.facts import CreateContext, MarketContext, MarketFacts, ObservedPool
from agents.lp.plan import Candidate, Plan
from tests.agents.lp.debating import Argued

Context = MarketContext | CreateContext

FLOORS = {"conservative": 36.0, "balanced": 24.0, "aggressive": 14.0}
GAS_CEILINGS = {"conservative": 1.2, "balanced": 1.6, "aggressive": 2.4}
LIFE_SHARES = {"conservative": 0.5, "balanced": 0.75, "aggressive": 1.0}
_ROOT_2 = sqrt(2)
_TERMS = 400
_STEPS = 400
_PARTS = [(step + 0.5) / _STEPS for step in range(_STEPS)]
_SEVEN_POINTS: tuple[tuple[float, float], ...] = tuple(
    zip(*(values.tolist() for values in hermegauss(7)), strict=True)
)


def stays_inside(below: float, above: float, ticks_a_day: float, hours: float) -> float:
    """The mean over what is not known of volatility: ln σ scatters by 0.42, at seven points."""
    return sum(
        weight / sqrt(2 * pi) * _stays_inside(below, above, ticks_a_day * exp(0.42 * node), hours)
        for node, weight in _SEVEN_POINTS
    )


def _stays_inside(below: float, above: float, ticks_a_day: float, hours: float) -> float:
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
    observed = _pool(context, move)
    pool = observed.pool
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    assert move.buffer_hours is not None
    assert move.median_life_hours is not None
    if waits_beside(move):
        return _verdict_beside(observed, move, GAS_CEILINGS[profile])
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
    pays_back = _break_even(context, hold, move)
    if buffer < floor or ratio is None or ratio > ceiling or pays_back is None:
        return "revise"
    return "revise" if pays_back > latest else "accept"


def waits_beside(move: Candidate) -> bool:
    """Whether it was judged as one that needs no swap and waits for the price."""
    return move.judgment is not None and any(
        finding.rule.value == "enters" for finding in move.judgment.findings
    )


def _verdict_beside(observed: ObservedPool, move: Candidate, ceiling: float) -> str:
    """By gas, and by the chance that a walk reaches the nearer edge, which is even or is not."""
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    assert move.prep_action is None
    price = 2 * log(observed.pool.sqrt_price_x96 / 2**96) / log(1.0001)
    distance = max(move.tick_lower - price, price - move.tick_upper, 0)
    day, week = (
        erfc(distance / (observed.market.sigma / log(1.0001) * sqrt(2 * days))) for days in (1, 7)
    )
    ratio = _gas_over_fees(move)
    if observed.pool.hook_danger == "dangerous" or week < 0.5:
        return "veto"
    if ratio is not None and ratio > 2 * ceiling:
        return "veto"
    return "revise" if day < 0.5 or ratio is None or ratio > ceiling else "accept"


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
    if observed.market.sigma_30d is None:
        assert move.survival.week is None
        return
    month = _blended(observed.market) / observed.market.sigma * ticks_a_day
    assert stays_inside(below, above, month, 168) == pytest.approx(move.survival.week, abs=2e-3)


def _blended(market: MarketFacts) -> float:
    day, week, month = market.sigma_24h or 0, market.sigma_7d or 0, market.sigma_30d or 0
    return sqrt(0.25 * day**2 + 0.35 * week**2 + 0.4 * month**2)


def check_plan(context: Context, plan: Plan) -> None:
    """That every judgment is the rules' own and nothing below a floor is recommended."""
    for move in plan.candidates:
        assert move.judgment is not None
        verdict = verdict_on(context, plan.hold, move)
        if verdict == "accept" and not waits_beside(move) and _paid_less_than_expected(move):
            verdict = "revise"
        assert move.judgment.by_rules == verdict, move
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
    if not waits_beside(chosen):
        assert _gain(context, plan.hold, chosen) > 0
    else:
        others = [each for each in (plan.hold, plan.exit, *plan.candidates) if each != chosen]
        assert all(each is None or (each.net_7d or inf) < (chosen.net_7d or 0) for each in others)


def _paid_less_than_expected(move: Candidate) -> bool:
    """Whether the range, run through the last day or week, earned less than its low end inside."""
    judgment = move.judgment
    if judgment is None or move.fee_low_24h is None or not move.in_range_share:
        return False
    least = move.fee_low_24h / move.in_range_share
    return any(
        found is not None
        and found.in_range_share >= 0.2
        and found.fees_usd / found.in_range_share / days < least
        for found, days in ((judgment.replay_24h, 1), (judgment.replay_7d, 7))
    )


def check_argued(context: Context, argued: Argued, rounds: int = 2) -> None:
    """There is a plan within the rules, and every step towards it was said aloud."""
    plan = argued.plan
    check_plan(context, plan)
    assert 1 <= plan.rounds <= rounds
    spoken = [(str(turn.role), turn.thought.tag) for turn in argued.ended.transcript]
    assert ("scout", "summary") in spoken
    argued_about = ("scout", "settled") not in spoken
    assert spoken.count(("strategist", "propose")) == argued_about
    assert spoken.count(("strategist", "revise")) == plan.rounds - 1
    assert spoken.count(("critic", "critique")) == (plan.rounds if argued_about else 0)
    assert spoken.count(("critic", "standing")) == 1
    assert spoken.count(("arbiter", "decision")) == (plan.decided_by == "arbiter")
    assert spoken[-1] == (plan.decided_by, "closing")
    if argued_about:
        tables = [turn.thought.table for turn in argued.ended.transcript]
        rows = [row for table in tables if table for row in table.rows]
        # Only a judged move's last cell says whether it passed.
        checked = sum(row.cells[-1].passed is not None for row in rows)
        assert checked == len(plan.rejected) + (plan.choice.kind == "move")
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


def _net(context: Context, one: Candidate, hours: float) -> float:
    """Fees − LVR of so many hours by the week's rates and the share of them spent inside."""
    observed = _pool(context, one)
    market, unit1 = observed.market, observed.token1.usd_per_unit
    if one.tick_lower is None or one.tick_upper is None:
        return 0.0
    if market.edge_7d is None or market.fee_rate_7d is None or unit1 is None:
        return nan
    price = 2 * log(observed.pool.sqrt_price_x96 / 2**96) / log(1.0001)
    ticks_a_day = market.sigma / log(1.0001)
    share = sum(
        _between(one.tick_lower - price, one.tick_upper - price, spread)
        for spread in (ticks_a_day * sqrt(hours * part / 24) for part in _PARTS)
    ) / len(_PARTS)
    near = min(max(price, one.tick_lower), one.tick_upper)
    worth = 2 * one.liquidity * exp(near * log(1.0001) / 2) * unit1
    # What was paid for a day is what was paid per dollar of liquidity, to so many dollars.
    assert market.fees_24h_usd is not None
    assert market.fee_rate_24h is not None
    active = observed.pool.liquidity / one.liquidity * worth
    if market.fee_rate_24h:
        active = market.fees_24h_usd / market.fee_rate_24h
    own = 0.0
    if context.mode == "rebalance" and _holds_now(context):
        held = context.position.liquidity
        own = 2 * held * exp(price * log(1.0001) / 2) * unit1
    edge = 0.0
    if market.edge_7d:
        near, far = min(market.edge_7d, 1.25), min(max(market.edge_7d / 1.25, 1.0), 1.76 / 1.25)
        edge = exp(-0.13 + 0.25 * (log(near) + 0.13)) * far**0.6
    risk = market.fee_rate_7d / market.edge_7d if market.edge_7d else market.sigma**2 / 8
    shared = active / (active - own + worth)
    return (edge * shared - 1) * risk * worth * share * hours / 24


def _holds_now(context: MarketContext) -> bool:
    position = context.position
    return position.tick_lower <= context.observed.pool.tick < position.tick_upper


def _between(lower: float, upper: float, spread: float) -> float:
    return (erfc(-upper / spread / _ROOT_2) - erfc(-lower / spread / _ROOT_2)) / 2


def _gain(context: Context, hold: Candidate, move: Candidate) -> float:
    """A day's, on average over the move's expected life, or over a week if that is longer."""
    observed = _pool(context, move)
    price = 2 * log(observed.pool.sqrt_price_x96 / 2**96) / log(1.0001)
    ticks_a_day = observed.market.sigma / log(1.0001)
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    below, above = price - move.tick_lower, move.tick_upper - price
    if below <= 0 or above <= 0:
        return -inf
    hours = min(24 * below * above / ticks_a_day**2, 168.0)
    gain = _net(context, move, hours) - _net(context, hold, hours)
    return -inf if isnan(gain) else gain * 24 / hours


def _break_even(context: Context, hold: Candidate, move: Candidate) -> float | None:
    gain = _gain(context, hold, move)
    if move.cost_usd == 0:
        return 0.0
    if move.cost_usd is None or gain <= 0:
        return None
    return 24 * move.cost_usd / gain
