"""Who decides at each moment: the advice, whoever re-centres at every exit, and chance."""

from __future__ import annotations

from math import erfc, pi, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from agents.backtest.advice_arrays import (
    HOLD,
    MOVE,
    AdviceArrays,
    advise_all,
    advised_half_widths,
    expected_edges,
    expected_nets,
    horizons,
)
from agents.backtest.walking import Decided, move_cost, snapped, swap_needed, worth
from agents.numbers.advice import DEAD_BAND, HORIZON_DAYS, AdviceLines
from agents.numbers.edges import Edges
from agents.numbers.profiles import PROFILES
from agents.numbers.shapes import MIN_WIDTH_MULTIPLIER
from agents.numbers.sigma import SIGMA_SCATTER
from agents.numbers.survival import HOURS_PER_DAY, half_width_for_buffer, median_hours

if TYPE_CHECKING:
    import numpy.typing as npt

    from agents.backtest.bars import Flags, Floats
    from agents.backtest.walking import BacktestTerms, Decider, Holdings, Moment
    from agents.numbers.profiles import ProfileRules, RiskProfile


class Advisor(Struct, frozen=True):
    """How the advice is asked for: with which profile, lines and floors."""

    rules: ProfileRules
    base_sigmas: float
    """The profile's own half-width in daily σ, which keeps its buffer floor."""
    lines: AdviceLines = DEAD_BAND
    critic: bool = True
    """Whether the profile's floors and ceilings hold."""


def advisor_of(profile: RiskProfile) -> Advisor:
    """With the half-width whose buffer is just the profile's floor."""
    rules = PROFILES[profile]
    return Advisor(
        rules, half_width_for_buffer(rules.buffer_floor_hours, 1.0, scatter=SIGMA_SCATTER)
    )


class _Candidate(NamedTuple):
    lower: Floats
    upper: Floats
    half_width: Floats
    net: Floats
    cost: Floats
    full_range_worth: Floats
    others_share: Floats


def by_advice(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """The rule, asked with what is known at each moment."""

    def decide(moment: Moment, holdings: Holdings) -> Decided:
        held = holdings.held
        present = worth(holdings, moment.price)
        inside = _inside(moment, holdings)
        staying = _staying_net(moment, holdings, terms)
        move = _candidate(moment, holdings, terms, advisor, present)
        allowed = np.ones_like(inside)
        if advisor.critic:
            allowed = _keeps_floors(moment, move, staying, terms, advisor)
        exits = np.full_like(present, terms.gas_usd)
        actions = advise_all(
            AdviceArrays(
                inside,
                (held.upper - held.lower) / 2,
                moment.edge,
                present * terms.token1_usd,
                staying,
                exits,
                allowed,
                move.half_width,
                move.net,
                move.cost,
                holdings.hours_since_action,
                np.zeros_like(inside),
            ),
            advisor.lines,
        )
        return Decided(actions, move.lower, move.upper)

    return decide


def by_recentring(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """Whoever is out of range goes back to the profile's own width around the price."""

    def decide(moment: Moment, holdings: Holdings) -> Decided:
        edges = snapped(moment.price, advisor.base_sigmas * moment.sigma, terms.tick_spacing)
        known = np.isfinite(moment.sigma)
        outside = ~_inside(moment, holdings) & known
        return Decided(np.where(outside, MOVE, HOLD).astype(np.int8), *edges)

    return decide


def by_chance(
    terms: BacktestTerms, advisor: Advisor, like: npt.NDArray[np.int8], seed: int
) -> Decider:
    """In every window the same actions in the same order, at moments that were drawn."""
    random = np.random.default_rng(seed)
    drawn = np.zeros_like(like)
    for row, actions in zip(drawn, like, strict=True):
        taken = actions[actions != HOLD]
        row[np.sort(random.choice(len(row), len(taken), replace=False))] = taken

    def decide(moment: Moment, _: Holdings) -> Decided:
        known = np.isfinite(moment.sigma)
        edges = snapped(moment.price, advisor.base_sigmas * moment.sigma, terms.tick_spacing)
        return Decided(np.where(known, drawn[:, moment.place], HOLD).astype(np.int8), *edges)

    return decide


def _inside(moment: Moment, holdings: Holdings) -> Flags:
    at = np.log(moment.price)
    held = holdings.held
    return (held.liquidity > 0) & (held.lower <= at) & (at < held.upper)


def _staying_net(moment: Moment, holdings: Holdings, terms: BacktestTerms) -> Floats:
    """Fees − LVR of the next seven days where it is, in range or coming back to it."""
    held, at = holdings.held, np.log(moment.price)
    own = 2 * held.liquidity * np.sqrt(moment.price) * terms.token1_usd
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = moment.sigma * sqrt(HORIZON_DAYS)
        share = _share_below((held.upper - at) / spread) - _share_below((held.lower - at) / spread)
    return expected_nets(moment.edge, moment.sigma, own, HORIZON_DAYS * share, _others(moment, own))


def _others(moment: Moment, own: Floats) -> Floats:
    return np.asarray(moment.liquidity_usd / (moment.liquidity_usd + own))


def _candidate(
    moment: Moment, holdings: Holdings, terms: BacktestTerms, advisor: Advisor, present: Floats
) -> _Candidate:
    """The move of the width that pays best, with what it nets and costs."""
    base = advisor.base_sigmas * (1.0 if advisor.critic else MIN_WIDTH_MULTIPLIER)
    # Every centred range takes half of each token: what it costs says how wide, not the reverse.
    guess = snapped(moment.price, advisor.base_sigmas * moment.sigma, terms.tick_spacing)
    share = move_cost(swap_needed(holdings, moment.price, *guess), terms) / (
        present * terms.token1_usd
    )
    half = advised_half_widths(share, moment.edge, moment.sigma, base)
    lower, upper = snapped(moment.price, half, terms.tick_spacing)
    cost = move_cost(swap_needed(holdings, moment.price, lower, upper), terms)
    half = (upper - lower) / 2
    rest = np.maximum(present * terms.token1_usd - cost, 0.0)
    # 2L√P of a centred range is its worth over 1 − e^(−h/2).
    own = rest / -np.expm1(-half / 2)
    others = _others(moment, own)
    days = horizons(half, moment.sigma)
    net = expected_nets(moment.edge, moment.sigma, own, days, others)
    return _Candidate(lower, upper, half, net, cost, own, others)


def _keeps_floors(
    moment: Moment, move: _Candidate, staying: Floats, terms: BacktestTerms, advisor: Advisor
) -> Flags:
    """What the Critic asks beside the buffer: gas over a day's fees, and an early break-even."""
    rules = advisor.rules
    risk = moment.sigma**2 / 8 * move.full_range_worth
    fees = expected_edges(moment.edge) * move.others_share * risk
    with np.errstate(divide="ignore", invalid="ignore"):
        life = (move.half_width / moment.sigma) ** 2 * _centred_median_days()
        gain = fees - risk - staying / HORIZON_DAYS
        pays_gas = terms.gas_usd <= rules.gas_yield_ceiling * fees
        in_time = (gain > 0) & (move.cost / gain <= rules.break_even_life_share * life)
    return np.asarray(pays_gas & in_time)


def _centred_median_days() -> float:
    """The median life of a range one daily σ to both sides; others live as the square."""
    return median_hours(Edges(1.0, 1.0), 1.0, SIGMA_SCATTER) / HOURS_PER_DAY


_erfc = np.vectorize(erfc, otypes=[np.float64])


def _share_below(level: Floats) -> Floats:
    """The expected share of [0, 1] that a standard walk from 0 spends below this level."""
    distance = np.minimum(np.abs(level), 40.0)
    square = distance * distance
    tail = (1 + square) * _erfc(distance / sqrt(2)) / 2
    beyond = np.maximum(0.0, tail - distance * np.exp(-square / 2) / sqrt(2 * pi))
    share: Floats = np.where(level < 0, beyond, 1 - beyond)
    return share
