"""From judged moves to one plan: tiebreak and score, HOLD against the move, EXIT, the verdict."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.numbers.profiles import Tiebreak
from agents.numbers.rules import JudgmentVerdict, MoveNumbers
from agents.numbers.survival import HOURS_PER_DAY
from chain.base.number_words import usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.numbers.profiles import ProfileRules
    from agents.numbers.survival import StressBuffers

HEALTHY_FACTOR = 2.0
"""A position that is in range and keeps its floor is moved only to net this many times as much."""

SCORES = {JudgmentVerdict.ACCEPT: 3, JudgmentVerdict.REVISE: 1, JudgmentVerdict.VETO: -10}


class PlanVerdict(StrEnum):
    APPROVE = "approve"
    APPROVE_WITH_CAUTION = "approve_with_caution"
    REJECT = "reject"


class JudgedMove(Struct, frozen=True):
    """A candidate of the latest proposal, by its place in it."""

    index: int
    numbers: MoveNumbers
    verdict: JudgmentVerdict


class HoldComparison(NamedTuple):
    """What a move gains over HOLD in its expected life, against what it costs."""

    gain: float | None
    cost: float
    move_wins: bool
    words: str


class VolatilityWindow(NamedTuple):
    """What the market moved and what the pool paid for, per day; None is unknown."""

    realised: float | None
    implied: float | None

    @property
    def unpaid(self) -> bool:
        """The market moved more than the fees paid for; unknown numbers prove nothing."""
        return (
            self.realised is not None and self.implied is not None and self.realised > self.implied
        )


class ExitAdvice(NamedTuple):
    recommended: bool
    reasons: tuple[str, ...]


def tiebreak_value(rules: ProfileRules, move: MoveNumbers) -> float:
    """How a move stands on the profile's axis; an unknown yield counts as none."""
    fees = move.fee_24h or 0.0
    if rules.tiebreak is Tiebreak.STRESSED_BUFFER:
        return move.buffers.at_2x
    if rules.tiebreak is Tiebreak.BUFFER_AND_YIELD:
        # Uncapped, the product always picks the widest: buffers grow with the square of the width.
        return min(move.buffers.at_1x, 2 * rules.buffer_floor_hours) * fees
    return fees


def best_accepted(rules: ProfileRules, moves: Sequence[JudgedMove]) -> JudgedMove | None:
    """The accepted move the profile's tiebreak prefers."""
    return _first(rules, [move for move in moves if move.verdict is JudgmentVerdict.ACCEPT])


def arbiter_choice(rules: ProfileRules, moves: Sequence[JudgedMove]) -> JudgedMove | None:
    """The highest score, ties by the profile; a vetoed move is never chosen."""
    return _first(rules, [move for move in moves if move.verdict is not JudgmentVerdict.VETO])


def compare_with_hold(
    gain_24h: float | None, expected_life_hours: float, cost: float
) -> HoldComparison:
    """HOLD wins unless Δ(fees − LVR) over the move's expected life exceeds its cost."""
    if gain_24h is None:
        words = "HOLD wins: the gain over HOLD is unknown"
        return HoldComparison(None, cost, move_wins=False, words=words)
    gain = gain_24h * expected_life_hours / HOURS_PER_DAY
    life = f"in an expected life of {expected_life_hours:.3g} h"
    if gain > cost:
        words = f"the move wins: it gains {usd(gain)} over HOLD {life} and costs {usd(cost)}"
    elif gain > 0:
        words = f"HOLD wins: the move gains {usd(gain)} {life} and costs no less, {usd(cost)}"
    else:
        words = f"HOLD wins: the move loses {usd(-gain)} to HOLD {life} and costs {usd(cost)}"
    return HoldComparison(gain, cost, gain > cost, words)


def worth_leaving_health(hold_net_24h: float | None, gain_24h: float) -> bool:
    """Whether a move is reason enough to touch a position that is well.

    Narrowing any range that pays raises its yield, so yield alone would never let one rest.
    """
    if hold_net_24h is None or hold_net_24h <= 0:
        return True
    return hold_net_24h + gain_24h >= HEALTHY_FACTOR * hold_net_24h


def below_own_floor(rules: ProfileRules, hold_buffers: StressBuffers) -> bool:
    """HOLD's own buffer is under what the profile asks of a move."""
    return hold_buffers.at_1x < rules.buffer_floor_hours


def advise_exit(
    rules: ProfileRules,
    hold_buffers: StressBuffers,
    day: VolatilityWindow,
    week: VolatilityWindow,
    dangers: Sequence[str],
) -> ExitAdvice:
    """Leave when fees pay for less than the market moves and HOLD is thin, or when it is dangerous.

    `dangers` are sentences about the pool or its hook; one is enough.
    """
    if dangers:
        return ExitAdvice(recommended=True, reasons=tuple(dangers))
    against = []
    for name, window in (("24 h", day), ("7 d", week)):
        if not window.unpaid:
            against.append(_why_paid(name, window))
    if not below_own_floor(rules, hold_buffers):
        against.append(
            f"HOLD's buffer of {hold_buffers.at_1x:.3g} h keeps the "
            f"{rules.buffer_floor_hours:g} h floor"
        )
    if against:
        return ExitAdvice(recommended=False, reasons=tuple(against))
    return ExitAdvice(
        recommended=True,
        reasons=(
            f"the market moved {_percent(day.realised)} a day in 24 h and "
            f"{_percent(week.realised)} in 7 d, while fees pay for {_percent(day.implied)} "
            f"and {_percent(week.implied)}",
            f"HOLD's buffer of {hold_buffers.at_1x:.3g} h is under the "
            f"{rules.buffer_floor_hours:g} h floor",
        ),
    )


def move_verdict(judgment: JudgmentVerdict, *, volatility_assumed: bool) -> PlanVerdict:
    """The verdict of a plan that moves; an assumed volatility caps it at caution."""
    if judgment is JudgmentVerdict.VETO:
        return PlanVerdict.REJECT
    if judgment is JudgmentVerdict.REVISE or volatility_assumed:
        return PlanVerdict.APPROVE_WITH_CAUTION
    return PlanVerdict.APPROVE


def stay_verdict(
    verdicts: Sequence[JudgmentVerdict], *, thin: bool, volatility_assumed: bool
) -> PlanVerdict:
    """The verdict of a plan that makes no move: reject when every move was vetoed.

    `thin` says that what is held instead is below its own floor.
    """
    if verdicts and all(verdict is JudgmentVerdict.VETO for verdict in verdicts):
        return PlanVerdict.REJECT
    if thin or volatility_assumed:
        return PlanVerdict.APPROVE_WITH_CAUTION
    return PlanVerdict.APPROVE


def _first(rules: ProfileRules, moves: Sequence[JudgedMove]) -> JudgedMove | None:
    return max(
        moves,
        key=lambda move: (
            SCORES[move.verdict],
            tiebreak_value(rules, move.numbers),
            move.numbers.buffers.at_2x,
            -move.index,
        ),
        default=None,
    )


def _why_paid(name: str, window: VolatilityWindow) -> str:
    if window.realised is None or window.implied is None:
        return f"over {name} it is unknown whether fees pay for the volatility"
    return (
        f"over {name} fees pay for {_percent(window.implied)} a day "
        f"and the market moved {_percent(window.realised)}"
    )


def _percent(sigma: float | None) -> str:
    return "an unknown amount" if sigma is None else f"{100 * sigma:.3g} %"
