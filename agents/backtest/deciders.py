"""Who decides at each moment, and what is walked side by side: the advice and what it must beat."""

from enum import StrEnum
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from agents.backtest.advice_arrays import (
    HOLD,
    MOVE,
    AdviceArrays,
    advise_all,
    advised_half_widths,
    expected_nets,
    horizons,
    times_in_range,
)
from agents.backtest.hours import Flags, Floats
from agents.backtest.walking import (
    BacktestTerms,
    Decided,
    Decider,
    Moment,
    PolicyRun,
    Tokens,
    Track,
    WindowHoldings,
    moment_at,
    move_cost,
    snapped,
    swap_needed,
    units_of,
    walk,
)
from agents.numbers.advice import DEAD_BAND, HORIZON_DAYS, WITHOUT_DEAD_BAND, AdviceLines
from agents.numbers.edges import Edges
from agents.numbers.rules import PROFILES, ProfileRules, RiskProfile
from agents.numbers.shapes import MIN_WIDTH_MULTIPLIER
from agents.numbers.survival import (
    HOURS_PER_DAY,
    SIGMA_SCATTER,
    half_width_for_buffer,
    median_hours,
)


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
    edges: tuple[Floats, Floats]
    half_width: Floats
    days: Floats
    """For which its gain is counted."""
    net: Floats
    cost: Floats
    full_range_worth: Floats
    others_share: Floats


def by_advice(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """The rule, asked with what is known at each moment."""

    def decide(moment: Moment, holdings: WindowHoldings) -> Decided:
        held = holdings.held
        tokens = holdings.tokens(moment.root_price)
        present = tokens.worth(moment.price)
        inside = _inside(moment, holdings)
        move = _candidate(moment, tokens, present, terms, advisor)
        days = np.where(inside, HORIZON_DAYS, move.days)
        staying = _staying_net(moment, holdings, terms, days, moment.expected_edge)
        again = _staying_net(moment, holdings, terms, days, moment.edge)
        allowed = np.ones_like(inside)
        if advisor.critic:
            allowed = _keeps_floors(moment, move, staying / days, terms, advisor)
        actions = advise_all(
            AdviceArrays(
                inside,
                (held.upper - held.lower) / 2,
                moment.edge,
                present * terms.token1_usd,
                staying,
                np.full_like(present, terms.gas_usd),
                again,
                allowed,
                move.half_width,
                move.net,
                move.cost,
                holdings.hours_since_action,
                np.zeros_like(inside),
            ),
            advisor.lines,
        )
        return Decided(actions, *move.edges)

    return decide


def by_recentring(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """Whoever is out of range goes back to the profile's own width around the price."""

    def decide(moment: Moment, holdings: WindowHoldings) -> Decided:
        edges = snapped(moment.log_price, advisor.base_sigmas * moment.sigma, terms.tick_spacing)
        known = np.isfinite(moment.sigma)
        outside = ~_inside(moment, holdings) & known
        return Decided(np.where(outside, MOVE, HOLD).astype(np.int8), *edges)

    return decide


def by_chance(
    terms: BacktestTerms, advisor: Advisor, like: npt.NDArray[np.int8], seed: int
) -> Decider:
    """In every window what another one did, at the same hours: as often in the pool, as little.

    Moments drawn at random would stay longer in a pool that loses than advice that leaves early.
    """
    shift = int(np.random.default_rng(seed).integers(1, max(2, len(like))))
    drawn = np.roll(like, shift, axis=0)

    def decide(moment: Moment, _: WindowHoldings) -> Decided:
        known = np.isfinite(moment.sigma)
        edges = snapped(moment.log_price, advisor.base_sigmas * moment.sigma, terms.tick_spacing)
        return Decided(np.where(known, drawn[:, moment.place], HOLD).astype(np.int8), *edges)

    return decide


def _inside(moment: Moment, holdings: WindowHoldings) -> Flags:
    held = holdings.held
    below = held.lower <= moment.log_price
    return np.asarray((held.liquidity > 0) & below & (moment.log_price < held.upper))


def _staying_net(
    moment: Moment, holdings: WindowHoldings, terms: BacktestTerms, days: Floats, edge: Floats
) -> Floats:
    """Fees − LVR of the next days where it is, in range or coming back to it, at this edge."""
    held = holdings.held
    own = held.liquidity * moment.root_price * (2 * terms.token1_usd)
    below, above = moment.log_price - held.lower, held.upper - moment.log_price
    inside = days * times_in_range(below, above, moment.sigma, days)
    return expected_nets(edge, moment.risk, own, inside, _others(moment, own))


def _others(moment: Moment, own: Floats) -> Floats:
    return np.asarray(moment.liquidity_usd / (moment.liquidity_usd + own))


def _candidate(
    moment: Moment, tokens: Tokens, present: Floats, terms: BacktestTerms, advisor: Advisor
) -> _Candidate:
    """The move of the width that pays best, with what it nets and costs."""
    least = advisor.base_sigmas * (1.0 if advisor.critic else MIN_WIDTH_MULTIPLIER)
    worth = present * terms.token1_usd
    # Centred ranges take half of each token: what that costs says how wide, not the reverse.
    share = move_cost(np.abs(present / 2 - tokens.amount1), terms) / worth
    half = advised_half_widths(share, moment.expected_edge, moment.sigma, least)
    edges = snapped(moment.log_price, half, terms.tick_spacing)
    _, unit = units_of(edges, moment.root_price)
    cost = move_cost(swap_needed(tokens, unit, moment.price), terms)
    # 2L√P of liquidity one is 2√P.
    full = 2 * moment.root_price / unit.worth(moment.price)
    own = np.maximum(worth - cost, 0.0) * full
    others = _others(moment, own)
    half = (edges[1] - edges[0]) / 2
    days = horizons(half, moment.sigma)
    net = expected_nets(moment.expected_edge, moment.risk, own, days, others)
    return _Candidate(edges, half, days, net, cost, own, others)


def _keeps_floors(
    moment: Moment, move: _Candidate, staying_a_day: Floats, terms: BacktestTerms, advisor: Advisor
) -> Flags:
    """What the Critic asks beside the buffer: gas over a day's fees, and an early break-even."""
    rules = advisor.rules
    risk = moment.risk * move.full_range_worth
    fees = moment.expected_edge * move.others_share * risk
    with np.errstate(divide="ignore", invalid="ignore"):
        life = (move.half_width / moment.sigma) ** 2 * _centred_median_days()
        gain = fees - risk - staying_a_day
        pays_gas = terms.gas_usd <= rules.gas_yield_ceiling * fees
        in_time = (gain > 0) & (move.cost / gain <= rules.break_even_life_share * life)
    return np.asarray(pays_gas & in_time)


def _centred_median_days() -> float:
    """The median life of a range one daily σ to both sides; others live as the square."""
    return median_hours(Edges(1.0, 1.0), 1.0, SIGMA_SCATTER) / HOURS_PER_DAY


WIDE_REACH = 0.2
"""`wide` is ±20 %: from P/1.2 to 1.2·P."""
PLACEBO_SEED = 0


class PolicyName(StrEnum):
    ADVICE = "advice"
    NEVER = "never"
    WIDE = "wide"
    FULL_RANGE = "full_range"
    RECENTRE = "recentre"
    PLACEBO = "placebo"
    WITHOUT_CRITIC = "without_critic"
    WITHOUT_DEAD_BAND = "without_dead_band"


def walk_all(
    track: Track, terms: BacktestTerms, advisor: Advisor, *, ablate: bool = False
) -> dict[PolicyName, PolicyRun]:
    """Every policy over the same windows, each from its own first range."""
    opening = moment_at(track, 0, 0)
    own = snapped(opening.log_price, advisor.base_sigmas * opening.sigma, terms.tick_spacing)
    reach = np.full_like(opening.price, log(1 + WIDE_REACH))
    wide = snapped(opening.log_price, reach, terms.tick_spacing)
    everywhere = (np.full_like(opening.price, -np.inf), np.full_like(opening.price, np.inf))
    advice = walk(track, terms, own, by_advice(terms, advisor))
    runs = {
        PolicyName.ADVICE: advice,
        PolicyName.NEVER: walk(track, terms, own),
        PolicyName.WIDE: walk(track, terms, wide),
        PolicyName.FULL_RANGE: walk(track, terms, everywhere),
        PolicyName.RECENTRE: walk(track, terms, own, by_recentring(terms, advisor)),
    }
    if len(track.starts) > 1:
        chance = by_chance(terms, advisor, advice.actions, PLACEBO_SEED)
        runs[PolicyName.PLACEBO] = walk(track, terms, own, chance)
    if ablate:
        alone = replace(advisor, critic=False)
        eager = replace(advisor, lines=WITHOUT_DEAD_BAND)
        runs[PolicyName.WITHOUT_CRITIC] = walk(track, terms, own, by_advice(terms, alone))
        runs[PolicyName.WITHOUT_DEAD_BAND] = walk(track, terms, own, by_advice(terms, eager))
    return runs
