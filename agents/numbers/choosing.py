"""Between moves that may be made: score, the profile's tiebreak, and a plan's verdict."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from agents.numbers.profiles import ProfileRules, Tiebreak
from agents.numbers.rules import JudgmentVerdict, MoveNumbers

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


def move_verdict(judgment: JudgmentVerdict, *, cautious: bool) -> PlanVerdict:
    """The verdict of a plan that moves; a doubt about what it rests on caps it at caution."""
    if judgment is JudgmentVerdict.VETO:
        return PlanVerdict.REJECT
    if judgment is JudgmentVerdict.REVISE or cautious:
        return PlanVerdict.APPROVE_WITH_CAUTION
    return PlanVerdict.APPROVE


def stay_verdict(verdicts: Sequence[JudgmentVerdict], *, cautious: bool) -> PlanVerdict:
    """The verdict of a plan that makes no move: reject when every move was vetoed."""
    if verdicts and all(verdict is JudgmentVerdict.VETO for verdict in verdicts):
        return PlanVerdict.REJECT
    return PlanVerdict.APPROVE_WITH_CAUTION if cautious else PlanVerdict.APPROVE


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
