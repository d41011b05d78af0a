"""Tiebreaks, the Arbiter's score, and the verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.rules import (
    PROFILES,
    JudgedMove,
    JudgmentVerdict,
    MoveNumbers,
    PlanVerdict,
    RiskProfile,
    arbiter_choice,
    move_verdict,
    stay_verdict,
    tiebreak_value,
)
from agents.numbers.survival import StressBuffers

ACCEPT, REVISE, VETO = JudgmentVerdict
BALANCED, AGGRESSIVE = PROFILES[RiskProfile.BALANCED], PROFILES[RiskProfile.AGGRESSIVE]


def buffers(hours: float) -> StressBuffers:
    return StressBuffers(hours, hours / 4, hours / 9)


def judged(index: int, verdict: JudgmentVerdict, hours: float, fees: float | None) -> JudgedMove:
    return JudgedMove(index, MoveNumbers(True, buffers(hours), 100, fees, 0.1, 1.0), verdict)


# Wider pays less: three accepted widths, each profile's favourite another one.
ACCEPTED = (judged(0, ACCEPT, 400, 2.0), judged(1, ACCEPT, 48, 8.0), judged(2, ACCEPT, 25, 11.0))


@pytest.mark.parametrize(
    ("profile", "index"),
    [(RiskProfile.CONSERVATIVE, 0), (RiskProfile.BALANCED, 1), (RiskProfile.AGGRESSIVE, 2)],
)
def test_each_profile_has_its_own_axis(profile: RiskProfile, index: int) -> None:
    chosen = arbiter_choice(PROFILES[profile], ACCEPTED)
    assert chosen is not None
    assert chosen.index == index


def test_the_balanced_product_is_capped_at_twice_the_floor() -> None:
    assert tiebreak_value(BALANCED, ACCEPTED[0].numbers) == 48 * 2.0
    assert tiebreak_value(BALANCED, ACCEPTED[2].numbers) == 25 * 11.0


def test_the_score_comes_before_the_axis() -> None:
    moves = [judged(0, REVISE, 900, 90.0), judged(1, ACCEPT, 30, 1.0), judged(2, VETO, 999, 99.0)]
    for rules in PROFILES.values():
        chosen = arbiter_choice(rules, moves)
        assert chosen is not None
        assert chosen.index == 1


def test_the_arbiter_may_choose_a_revise_but_nothing_vetoed() -> None:
    revise, veto = judged(0, REVISE, 20, 1.0), judged(1, VETO, 999, 99.0)
    assert arbiter_choice(AGGRESSIVE, [veto, revise]) == revise
    assert arbiter_choice(AGGRESSIVE, [veto]) is None
    assert arbiter_choice(AGGRESSIVE, []) is None


def test_equal_moves_go_to_the_safer_then_to_the_first() -> None:
    assert arbiter_choice(AGGRESSIVE, [judged(0, ACCEPT, 30, 5), judged(1, ACCEPT, 40, 5)]) == (
        judged(1, ACCEPT, 40, 5)
    )
    assert arbiter_choice(AGGRESSIVE, [judged(0, ACCEPT, 30, 5), judged(1, ACCEPT, 30, 5)]) == (
        judged(0, ACCEPT, 30, 5)
    )
    assert arbiter_choice(BALANCED, [judged(0, ACCEPT, 30, None), judged(1, ACCEPT, 31, None)]) == (
        judged(1, ACCEPT, 31, None)
    )


move_lists = st.lists(
    st.tuples(st.sampled_from(JudgmentVerdict), st.floats(0, 500), st.floats(0, 100)), max_size=5
)


@given(move_lists, st.sampled_from(list(PROFILES)))
def test_a_veto_is_never_chosen(
    listed: list[tuple[JudgmentVerdict, float, float]], profile: RiskProfile
) -> None:
    moves = [judged(index, *entry) for index, entry in enumerate(listed)]
    chosen = arbiter_choice(PROFILES[profile], moves)
    kept = [move for move in moves if move.verdict is not VETO]
    assert (chosen is None) == (not kept)
    assert chosen is None or chosen.verdict is not VETO


@pytest.mark.parametrize(
    ("judgment", "assumed", "verdict"),
    [
        (ACCEPT, False, PlanVerdict.APPROVE),
        (ACCEPT, True, PlanVerdict.APPROVE_WITH_CAUTION),
        (REVISE, False, PlanVerdict.APPROVE_WITH_CAUTION),
        (REVISE, True, PlanVerdict.APPROVE_WITH_CAUTION),
        (VETO, False, PlanVerdict.REJECT),
    ],
)
def test_the_verdict_of_a_move(
    judgment: JudgmentVerdict, assumed: bool, verdict: PlanVerdict
) -> None:
    assert move_verdict(judgment, cautious=assumed) is verdict


@pytest.mark.parametrize(
    ("verdicts", "cautious", "verdict"),
    [
        ([VETO, VETO], False, PlanVerdict.REJECT),
        ([VETO, REVISE], False, PlanVerdict.APPROVE),
        ([ACCEPT], True, PlanVerdict.APPROVE_WITH_CAUTION),
        ([], False, PlanVerdict.APPROVE),
    ],
)
def test_the_verdict_of_staying(
    verdicts: list[JudgmentVerdict], cautious: bool, verdict: PlanVerdict
) -> None:
    assert stay_verdict(verdicts, cautious=cautious) is verdict
