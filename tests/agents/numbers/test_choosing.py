"""Tiebreaks, the Arbiter's score, HOLD against a move, EXIT, and the verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.choosing import (
    JudgedMove,
    PlanVerdict,
    VolatilityWindow,
    advise_exit,
    arbiter_choice,
    below_own_floor,
    best_accepted,
    compare_with_hold,
    move_verdict,
    stay_verdict,
    tiebreak_value,
)
from agents.numbers.profiles import PROFILES, RiskProfile
from agents.numbers.rules import JudgmentVerdict, MoveNumbers
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
    for choose in (best_accepted, arbiter_choice):
        chosen = choose(PROFILES[profile], ACCEPTED)
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
    assert best_accepted(AGGRESSIVE, [veto, revise]) is None
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
    ("gain", "life", "cost", "wins"),
    [
        (2.0, 48.0, 3.99, True),
        (2.0, 48.0, 4.0, False),
        (-1.0, 48.0, 0.5, False),
        (-1.0, 48.0, 0.0, False),
        (0.0, 48.0, 0.0, False),
    ],
)
def test_hold_wins_unless_the_gain_over_the_life_exceeds_the_cost(
    gain: float, life: float, cost: float, wins: bool
) -> None:
    comparison = compare_with_hold(gain, life, cost)
    assert comparison.move_wins is wins
    assert comparison.gain == gain * life / 24
    assert comparison.words.startswith("the move wins" if wins else "HOLD wins")


def test_hold_wins_when_the_gain_is_unknown() -> None:
    comparison = compare_with_hold(None, 48.0, 0.0)
    assert not comparison.move_wins
    assert comparison.gain is None


UNPAID = VolatilityWindow(realised=0.04, implied=0.02)
PAID = VolatilityWindow(realised=0.02, implied=0.04)
UNKNOWN = VolatilityWindow(realised=0.04, implied=None)
THIN, THICK = buffers(23.9), buffers(24.0)


@pytest.mark.parametrize(
    ("hold", "day", "week", "leaves"),
    [
        (THIN, UNPAID, UNPAID, True),
        (THICK, UNPAID, UNPAID, False),
        (THIN, PAID, UNPAID, False),
        (THIN, UNPAID, PAID, False),
        (THIN, UNKNOWN, UNPAID, False),
        (THIN, UNPAID, UNKNOWN, False),
        (THIN, VolatilityWindow(0.02, 0.02), UNPAID, False),
        (buffers(0), UNPAID, UNPAID, True),
    ],
)
def test_exit_needs_both_windows_and_a_thin_hold(
    hold: StressBuffers, day: VolatilityWindow, week: VolatilityWindow, leaves: bool
) -> None:
    advice = advise_exit(BALANCED, hold, day, week, ())
    assert advice.recommended is leaves
    assert advice.reasons


def test_danger_alone_is_reason_enough_to_leave() -> None:
    advice = advise_exit(BALANCED, THICK, PAID, PAID, ("The hook can now refuse exits.",))
    assert advice.recommended
    assert advice.reasons == ("The hook can now refuse exits.",)


def test_the_reasons_carry_the_numbers() -> None:
    leaving = " ".join(advise_exit(BALANCED, THIN, UNPAID, UNPAID, ()).reasons)
    assert "4 %" in leaving
    assert "23.9 h" in leaving
    staying = " ".join(advise_exit(BALANCED, THICK, PAID, UNKNOWN, ()).reasons)
    assert "over 24 h fees pay for 4 % a day" in staying
    assert "over 7 d it is unknown" in staying


def test_below_own_floor() -> None:
    assert below_own_floor(BALANCED, THIN)
    assert not below_own_floor(BALANCED, THICK)


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
    assert move_verdict(judgment, volatility_assumed=assumed) is verdict


@pytest.mark.parametrize(
    ("verdicts", "thin", "assumed", "verdict"),
    [
        ([VETO, VETO], False, False, PlanVerdict.REJECT),
        ([VETO, REVISE], False, False, PlanVerdict.APPROVE),
        ([ACCEPT], False, True, PlanVerdict.APPROVE_WITH_CAUTION),
        ([ACCEPT], True, False, PlanVerdict.APPROVE_WITH_CAUTION),
        ([], False, False, PlanVerdict.APPROVE),
    ],
)
def test_the_verdict_of_staying(
    verdicts: list[JudgmentVerdict], thin: bool, assumed: bool, verdict: PlanVerdict
) -> None:
    assert stay_verdict(verdicts, thin=thin, volatility_assumed=assumed) is verdict
