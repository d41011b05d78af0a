"""The rule of `agents.numbers.advice` for many positions at once; NaN stands for unknown."""

from functools import cache
from math import erfc, pi, sqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from agents.backtest.hours import Flags, Floats, Indices
from agents.numbers import advice

HOLD, MOVE, EXIT = range(3)
ACTIONS = (advice.AdvisedAction.HOLD, advice.AdvisedAction.MOVE, advice.AdvisedAction.EXIT)
"""By their numbers in an array."""
_FARTHEST = 10.0
"""Deviations beyond which a walk is never found; an infinite edge would make no number."""
_STEPS = 8192
"""Of a deviation, between which shares are drawn as a curve of the second degree."""


Record = TypeVar("Record", bound=tuple[Any, ...])


def some_of(record: Record, places: Indices) -> Record:
    """A named tuple of arrays at some of their last places; what is no array stays."""
    fields: list[Any] = []
    for field in record:
        if isinstance(field, tuple):
            fields.append(some_of(field, places))
        else:
            array = isinstance(field, np.ndarray)
            fields.append(field.take(places, axis=-1) if array else field)
    return type(record)(*fields)


class AdviceArrays(NamedTuple):
    """The fields of `AdviceInputs` and its move, an element a position; of moves a row a move."""

    inside: Flags
    half_width: Floats
    edge_7d: Floats
    worth: Floats
    hold_net: Floats
    exit_cost: Floats
    week_again: Floats
    has_move: Flags
    move_half_width: Floats
    move_net: Floats
    move_cost: Floats
    hours_since_action: Floats
    """Infinite when nobody acted yet."""
    dangerous: Flags


def may_enter(asked: AdviceArrays, lines: advice.AdviceLines = advice.DEAD_BAND) -> Flags:
    """Where a move, if there is one that pays for itself, would be advised."""
    paid = asked.edge_7d > max(lines.enter_over, 1.0)
    return np.asarray(_may_act(asked, lines) & ~asked.inside & paid)


def advise_all(
    asked: AdviceArrays, lines: advice.AdviceLines = advice.DEAD_BAND
) -> npt.NDArray[np.int8]:
    """An action each, as `advise` decides them one by one."""
    enters = may_enter(asked, lines) & moves_pay(asked)
    moved = np.where(enters, np.int8(MOVE), np.int8(HOLD))
    return np.where(should_close(asked, lines), np.int8(EXIT), moved)


# Whatever is compared with NaN is false, so that the unknown never acts.
def should_close(asked: AdviceArrays, lines: advice.AdviceLines = advice.DEAD_BAND) -> Flags:
    """Where the position is closed, whatever move is proposed."""
    loss = -asked.week_again
    loses = (
        asked.inside
        & (asked.edge_7d < min(lines.leave_under, 1.0))
        & (asked.half_width < advice.WIDE_HALF_WIDTH)
        & (loss > advice.LEAST_WEEKLY_LOSS * asked.worth)
        & (loss > advice.COST_MULTIPLE * asked.exit_cost)
    )
    return np.asarray(_may_act(asked, lines) & loses | asked.dangerous)


def moves_pay(asked: AdviceArrays) -> Flags:
    """Which moves earn their cost twice, and beat both staying and leaving."""
    with np.errstate(divide="ignore", invalid="ignore"):
        entry = 1 + 4 * asked.move_cost / asked.worth / asked.move_half_width
    return np.asarray(
        asked.has_move
        & (asked.edge_7d > entry)
        & (asked.move_net - asked.hold_net > advice.COST_MULTIPLE * asked.move_cost)
        & (asked.move_net - asked.move_cost > -asked.exit_cost)
    )


def _may_act(asked: AdviceArrays, lines: advice.AdviceLines) -> Flags:
    return np.asarray(~(asked.hours_since_action < lines.hours_between))


def expected_edges(edge_7d: Floats) -> Floats:
    """ρ̂ of each: this week's edge drawn towards the usual one."""
    measured = np.minimum(edge_7d, advice.MOST_EDGE_MEASURED)
    with np.errstate(divide="ignore"):
        beyond = np.maximum(0.0, np.log(measured / advice.ENTER_OVER))
        believed = advice.EDGE_PERSISTENCE * (np.log(measured) - beyond - advice.USUAL_LOG_EDGE)
    expected: Floats = np.exp(
        advice.USUAL_LOG_EDGE + believed + advice.HIGH_EDGE_PERSISTENCE * beyond
    )
    return expected


def expected_nets(
    edge: Floats, risk: Floats, full_range_worth: Floats, days: Floats, others_share: Floats
) -> Floats:
    """Fees − LVR of each, if the pool pays this edge; `risk` is LVR a day of a dollar."""
    return (edge * others_share - 1) * (risk * full_range_worth * days)


def horizons(half_width: Floats, sigma: Floats) -> Floats:
    """Mean life in days, at most seven."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(advice.HORIZON_DAYS, (half_width / sigma) ** 2)


def advised_half_widths(
    cost_share: Floats, expected: Floats, sigma: Floats, base_sigmas: Floats | float
) -> Floats:
    """The width that pays best by its expected edge, held between the base and nine daily σ."""
    most = advice.MOST_HALF_WIDTH_SIGMAS * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(expected > 1, 8 * cost_share / (expected - 1), most)
    return np.minimum(np.maximum(best, base_sigmas * sigma), most)


def times_in_range(below: Floats, above: Floats, sigma: Floats, days: Floats) -> Floats:
    """The expected share of the next days with the price inside, by the log distances to edges."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = sigma * np.sqrt(days)
        levels = np.array((above / spread, -below / spread))
    under_upper, under_lower = _shares_below(levels)
    share: Floats = np.maximum(under_upper - under_lower, 0.0)
    return share


def _shares_below(levels: Floats) -> Floats:
    """The expected share of [0, 1] that a standard walk from 0 spends below each level."""
    steps = np.minimum(np.abs(levels), _FARTHEST) * _STEPS
    places = steps.astype(np.intp)
    values, slopes, bends = _shares_beyond()
    steps -= places
    beyond = (steps - 1) * bends.take(places)
    beyond += slopes.take(places)
    beyond *= steps
    beyond += values.take(places)
    share: Floats = np.where(levels < 0, beyond, 1 - beyond)
    return share


@cache
def _shares_beyond() -> tuple[Floats, Floats, Floats]:
    """The share spent beyond each distance, what a step adds and how that bends: to 1e-12."""
    distance = np.arange(0, _FARTHEST + 3 / _STEPS, 1 / _STEPS)
    tails = np.array([erfc(each / sqrt(2)) for each in distance.tolist()])
    square = distance * distance
    tail = (1 + square) * tails / 2
    values = np.maximum(0.0, tail - distance * np.exp(-square / 2) / sqrt(2 * pi))
    return values[:-2], np.diff(values)[:-1], np.diff(values, 2) / 2
