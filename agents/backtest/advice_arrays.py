"""The rule of `agents.numbers.advice` for many positions at once; NaN stands for unknown."""

from math import erfc, pi, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.backtest.hours import Flags, Floats
from agents.numbers import advice

HOLD, MOVE, EXIT = range(3)
ACTIONS = (advice.AdvisedAction.HOLD, advice.AdvisedAction.MOVE, advice.AdvisedAction.EXIT)
"""By their numbers in an array."""
_FARTHEST = 40.0
"""Deviations beyond which a walk is never found; an infinite edge would make no number."""


class AdviceArrays(NamedTuple):
    """The fields of `AdviceInputs` and its move, an element a position."""

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


def advise_all(
    asked: AdviceArrays, lines: advice.AdviceLines = advice.DEAD_BAND
) -> npt.NDArray[np.int8]:
    """An action each, as `advise` decides them one by one."""
    # Whatever is compared with NaN is false, so that the unknown never acts.
    with np.errstate(invalid="ignore", divide="ignore"):
        free = ~(asked.hours_since_action < lines.hours_between)
        loss = -asked.week_again
        leaves = (
            asked.inside
            & (asked.edge_7d < min(lines.leave_under, 1.0))
            & (asked.half_width < advice.WIDE_HALF_WIDTH)
            & (loss > advice.LEAST_WEEKLY_LOSS * asked.worth)
            & (loss > advice.COST_MULTIPLE * asked.exit_cost)
        )
        entry = np.maximum(
            max(lines.enter_over, 1.0),
            1 + 4 * asked.move_cost / asked.worth / asked.move_half_width,
        )
        moves = (
            ~asked.inside
            & asked.has_move
            & (asked.edge_7d > entry)
            & (asked.move_net - asked.hold_net > advice.COST_MULTIPLE * asked.move_cost)
            & (asked.move_net - asked.move_cost > -asked.exit_cost)
        )
    actions = np.full(len(asked.inside), HOLD, dtype=np.int8)
    actions[free & moves] = MOVE
    actions[(free & leaves) | asked.dangerous] = EXIT
    return actions


def expected_edges(edge_7d: Floats) -> Floats:
    """ρ̂ of each: this week's edge drawn towards the usual one."""
    with np.errstate(divide="ignore"):
        beyond = np.maximum(0.0, np.log(edge_7d / advice.ENTER_OVER))
        believed = advice.EDGE_PERSISTENCE * (np.log(edge_7d) - beyond - advice.USUAL_LOG_EDGE)
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
    cost_share: Floats, expected: Floats, sigma: Floats, base_sigmas: float
) -> Floats:
    """The width that pays best by its expected edge, held between the base and nine daily σ."""
    most = advice.MOST_HALF_WIDTH_SIGMAS * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(expected > 1, 8 * cost_share / (expected - 1), most)
    return np.minimum(np.maximum(best, base_sigmas * sigma), most)


def times_in_range(below: Floats, above: Floats, sigma: Floats, days: Floats) -> Floats:
    """The expected share of the next days with the price inside, by the log distances to edges."""
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = np.stack((above, -below)) / (sigma * np.sqrt(days))
    under_upper, under_lower = _shares_below(levels)
    share: Floats = np.maximum(under_upper - under_lower, 0.0)
    return share


def _shares_below(levels: Floats) -> Floats:
    """The expected share of [0, 1] that a standard walk from 0 spends below each level."""
    distance = np.minimum(np.abs(levels), _FARTHEST)
    square = distance * distance
    tails = np.fromiter(map(erfc, (distance / sqrt(2)).ravel().tolist()), np.float64)
    tail = (1 + square) * tails.reshape(levels.shape) / 2
    beyond = np.maximum(0.0, tail - distance * np.exp(-square / 2) / sqrt(2 * pi))
    share: Floats = np.where(levels < 0, beyond, 1 - beyond)
    return share
