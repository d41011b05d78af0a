"""Who decides at each moment, and what is walked side by side: the advice and what it must beat."""

from enum import StrEnum
from functools import cache
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from agents.backtest.advice_arrays import (
    EXIT,
    HOLD,
    MOVE,
    AdviceArrays,
    advised_half_widths,
    expected_nets,
    horizons,
    may_enter,
    moves_pay,
    should_close,
    some_of,
    times_in_range,
)
from agents.backtest.hours import Flags, Floats
from agents.backtest.walking import (
    BacktestTerms,
    Decided,
    Decider,
    Moment,
    PolicyRun,
    Track,
    WindowHoldings,
    moment_at,
    move_cost,
    snap_edges,
    swap_needed,
    units_of,
    walk,
)
from agents.numbers.advice import DEAD_BAND, HORIZON_DAYS, WITHOUT_DEAD_BAND, AdviceLines
from agents.numbers.edges import TICK_LOG, Edges
from agents.numbers.rules import (
    PROFILES,
    SCORES,
    JudgmentVerdict,
    MoveStanding,
    ProfileRules,
    RiskProfile,
    winners,
)
from agents.numbers.shapes import (
    MAX_WIDTH_MULTIPLIER,
    MIN_WIDTH_MULTIPLIER,
    MOST_BASE_SIGMAS,
    REBALANCE_MULTIPLIERS,
    lost_to_snapping,
)
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


class _Moves(NamedTuple):
    """A row a width, a column a position."""

    lower: Floats
    upper: Floats
    half_width: Floats
    cost: Floats
    days: Floats
    """For which its gain is counted."""
    net: Floats
    """Of these days, before its cost."""
    staying: Floats
    """What staying nets in them."""
    own: Floats
    """The full-range worth of its liquidity."""


def by_advice(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """The rule, asked with what is known at each moment."""

    def decide(moment: Moment, holdings: WindowHoldings) -> Decided:
        asked = _asked(moment, holdings, terms)
        actions = np.where(should_close(asked, advisor.lines), np.int8(EXIT), np.int8(HOLD))
        edges = holdings.held.lower, holdings.held.upper
        # Few are ever about to enter, and for fewer still a move pays: only those are judged.
        places = np.flatnonzero(may_enter(asked, advisor.lines))
        if not places.size:
            return Decided(actions, *edges)
        moment, asked = some_of(moment, places), some_of(asked, places)
        moves = _moves(moment, some_of(holdings, places), terms, advisor)
        permitted = moves_pay(
            asked._replace(
                has_move=np.ones(1, dtype=np.bool_),
                hold_net=moves.staying,
                move_half_width=moves.half_width,
                move_net=moves.net,
                move_cost=moves.cost,
            )
        )
        columns = np.flatnonzero(permitted.any(axis=0))
        if not columns.size:
            return Decided(actions, *edges)
        moves, permitted = some_of(moves, columns), permitted[:, columns]
        standing = _standing(some_of(moment, columns), moves, terms, advisor)
        standing = standing._replace(score=standing.score * permitted)
        rows = [MoveStanding(*row) for row in zip(*standing, strict=True)]
        won = np.array(winners(advisor.rules, rows, np.maximum.reduce)) > 0
        first, places = won.argmax(axis=0), places[columns]
        actions[places] = np.where(won.any(axis=0), MOVE, actions[places])
        lower, upper = np.copy(edges[0]), np.copy(edges[1])
        lower[places] = moves.lower[first, np.arange(places.size)]
        upper[places] = moves.upper[first, np.arange(places.size)]
        return Decided(actions, lower, upper)

    return decide


def _asked(moment: Moment, holdings: WindowHoldings, terms: BacktestTerms) -> AdviceArrays:
    """What is known of every position before a move is proposed."""
    held = holdings.held
    present = holdings.tokens(moment.root_price).worth(moment.price)
    inside, unknown = _inside(moment, holdings), np.full_like(present, np.nan)
    # Only where a pool does not pay is it asked what a week like the last would lose.
    places, again = np.flatnonzero(inside & (moment.edge < 1)), np.copy(unknown)
    if places.size:
        some, week = some_of(moment, places), np.full(places.size, HORIZON_DAYS)
        again[places] = _staying_net(some, some_of(holdings, places), terms, week, some.edge)
    return AdviceArrays(
        inside=inside,
        half_width=(held.upper - held.lower) / 2,
        edge_7d=moment.edge,
        worth=present * terms.token1_usd,
        hold_net=unknown,
        exit_cost=np.full_like(present, terms.gas_usd),
        week_again=again,
        has_move=np.zeros_like(inside),
        move_half_width=unknown,
        move_net=unknown,
        move_cost=unknown,
        hours_since_action=holdings.hours_since_action,
        dangerous=np.zeros_like(inside),
    )


def by_recentring(terms: BacktestTerms, advisor: Advisor) -> Decider:
    """Whoever is out of range goes back to the profile's own width around the price."""

    def decide(moment: Moment, holdings: WindowHoldings) -> Decided:
        outside = ~_inside(moment, holdings) & np.isfinite(moment.sigma)
        actions = np.where(outside, MOVE, HOLD).astype(np.int8)
        return Decided(actions, *_own_range(moment, terms, advisor))

    return decide


def by_chance(
    track: Track,
    terms: BacktestTerms,
    advisor: Advisor,
    like: npt.NDArray[np.int8],
    never: PolicyRun,
) -> PolicyRun:
    """In every window what each other one did, at the same hours: as often in the pool, as little.

    Moments drawn at random would stay longer in a pool that loses than advice that leaves early.
    """
    windows = len(like)
    acted = np.flatnonzero(like.any(axis=1))
    targets, sources = np.repeat(np.arange(windows), acted.size), np.tile(acted, windows)
    shifted = targets != sources
    targets, sources = targets[shifted], sources[shifted]
    if not targets.size:
        return never

    def decide(moment: Moment, _: WindowHoldings) -> Decided:
        return Decided(like[sources, moment.place], *_own_range(moment, terms, advisor))

    rows = track._replace(starts=track.starts[targets])
    walked = walk(rows, terms, _own_range(moment_at(rows, 0, 0), terms, advisor), decide)
    # Where the other window saw nothing done, nothing is done here.
    idle = windows - 1 - np.bincount(targets, minlength=windows)

    def average(done: Floats, left_alone: Floats) -> Floats:
        total = np.bincount(targets, done, windows) + idle * left_alone
        return np.asarray(total / (windows - 1))

    return PolicyRun(
        hedged=average(walked.hedged, never.hedged),
        unhedged=average(walked.unhedged, never.unhedged),
        costs=average(walked.costs, never.costs),
        in_range=average(walked.in_range, never.in_range),
        actions=like,
    )


def _own_range(moment: Moment, terms: BacktestTerms, advisor: Advisor) -> tuple[Floats, Floats]:
    return snap_edges(
        moment.log_price, first_half_width(moment, terms, advisor), terms.tick_spacing
    )


def first_half_width(moment: Moment, terms: BacktestTerms, advisor: Advisor) -> Floats:
    """The profile's own, and what snapping may take off it; no floor holds without Critic."""
    sigmas = advisor.base_sigmas if advisor.critic else MIN_WIDTH_MULTIPLIER
    return sigmas * moment.sigma + lost_to_snapping(terms.tick_spacing) * TICK_LOG


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
    return _net(moment, (held.lower, held.upper), days, own, edge)


def _others(moment: Moment, own: Floats) -> Floats:
    return np.asarray(moment.liquidity_usd / (moment.liquidity_usd + own))


def _moves(
    moment: Moment, holdings: WindowHoldings, terms: BacktestTerms, advisor: Advisor
) -> _Moves:
    """The widths that the Strategist proposes, each with what it nets, costs and how long it lasts.

    They are multiples of what is held, between the profile's own and the widest, and the width that
    pays best by the edge.
    """
    tokens, sigma = holdings.tokens(moment.root_price), moment.sigma
    present = tokens.worth(moment.price)
    worth = present * terms.token1_usd
    least = first_half_width(moment, terms, advisor)
    # Centred ranges take half of each token: what that costs says how wide, not the reverse.
    share = move_cost(np.abs(present / 2 - tokens.amount1), terms) / worth
    most = MOST_BASE_SIGMAS * sigma
    base = np.maximum(np.minimum((holdings.held.upper - holdings.held.lower) / 2, most), least)
    roomy = least * sqrt(advisor.rules.liked_room) / sigma
    best = advised_half_widths(share, moment.expected_edge, sigma, roomy)
    bounded = np.clip(best, MIN_WIDTH_MULTIPLIER * base, MAX_WIDTH_MULTIPLIER * base)
    widths = np.stack([*(multiplier * base for multiplier in REBALANCE_MULTIPLIERS), bounded])
    edges = snap_edges(moment.log_price, widths, terms.tick_spacing)
    _, unit = units_of(edges, moment.root_price)
    cost = move_cost(swap_needed(tokens, unit, moment.price), terms)
    # 2L√P of liquidity one is 2√P.
    own = np.maximum(worth - cost, 0.0) * (2 * moment.root_price / unit.worth(moment.price))
    half = (edges[1] - edges[0]) / 2
    days = horizons(half, moment.sigma)
    net = _net(moment, edges, days, own, moment.expected_edge)
    staying = _staying_net(moment, holdings, terms, days, moment.expected_edge)
    return _Moves(*edges, half, cost, days, net, staying, own)


def _net(
    moment: Moment, edges: tuple[Floats, Floats], days: Floats, own: Floats, edge: Floats
) -> Floats:
    """Fees − LVR of so many days in these ranges, in range or coming back to them."""
    below, above = moment.log_price - edges[0], edges[1] - moment.log_price
    inside = days * times_in_range(below, above, moment.sigma, days)
    return expected_nets(edge, moment.risk, own, inside, _others(moment, own))


def _standing(
    moment: Moment, moves: _Moves, terms: BacktestTerms, advisor: Advisor
) -> MoveStanding[Floats]:
    edges = moves.lower, moves.upper
    below, above = moment.log_price - edges[0], edges[1] - moment.log_price
    week, day = np.full_like(below, HORIZON_DAYS), np.ones_like(below)
    inside = times_in_range(below, above, moment.sigma, day)
    fees = moment.expected_edge * _others(moment, moves.own) * moment.risk * moves.own * inside
    # By the nearer edge, where snapping to ticks put the price off the centre.
    nearer = np.minimum(below, above) / (advisor.base_sigmas * moment.sigma)
    hours = advisor.rules.buffer_floor_hours * nearer**2
    gain = moves.net - moves.staying
    with np.errstate(divide="ignore", invalid="ignore"):
        days_to_pay = np.where(gain > 0, moves.cost * moves.days / gain, np.inf)
        gas_yield = terms.gas_usd / fees
    sigmas = moves.half_width / moment.sigma
    return MoveStanding(
        score=_scores(hours, gas_yield, days_to_pay, sigmas, advisor),
        buffer_hours=hours,
        stressed_hours=hours / 4,  # at twice the volatility
        net_7d=_net(moment, edges, week, moves.own, moment.expected_edge) - moves.cost,
        fee_24h=fees,
    )


def _scores(
    hours: Floats, gas_yield: Floats, days_to_pay: Floats, sigmas: Floats, advisor: Advisor
) -> Floats:
    """How the Critic judges each: its buffer, gas over a day's fees, and an early break-even."""
    if not advisor.critic:
        return np.ones_like(hours)
    rules = advisor.rules
    floor, ceiling = rules.buffer_floor_hours, rules.gas_yield_ceiling
    limit = rules.break_even_life_share * sigmas**2 * _centred_median_days()
    vetoed = (hours < floor / 2) | (gas_yield > 2 * ceiling)
    accepted = (hours >= floor) & (gas_yield <= ceiling) & (days_to_pay <= limit)
    left = np.where(accepted, SCORES[JudgmentVerdict.ACCEPT], SCORES[JudgmentVerdict.REVISE])
    return np.where(vetoed, SCORES[JudgmentVerdict.VETO], left)


@cache
def _centred_median_days() -> float:
    """The median life of a range one daily σ to both sides; others live as the square."""
    return median_hours(Edges(1.0, 1.0), 1.0, SIGMA_SCATTER) / HOURS_PER_DAY


WIDE_REACH = 0.2
"""`wide` is ±20 %: from P/1.2 to 1.2·P."""


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
    own = _own_range(opening, terms, advisor)
    reach = np.full_like(opening.price, log(1 + WIDE_REACH))
    wide = snap_edges(opening.log_price, reach, terms.tick_spacing)
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
        never = runs[PolicyName.NEVER]
        runs[PolicyName.PLACEBO] = by_chance(track, terms, advisor, advice.actions, never)
    if ablate:
        alone = replace(advisor, critic=False)
        eager = replace(advisor, lines=WITHOUT_DEAD_BAND)
        runs[PolicyName.WITHOUT_CRITIC] = walk(track, terms, own, by_advice(terms, alone))
        runs[PolicyName.WITHOUT_DEAD_BAND] = walk(track, terms, own, by_advice(terms, eager))
    return runs
