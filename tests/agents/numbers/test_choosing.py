"""Tiebreaks, the Arbiter's score, and the verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.numbers.rules import (
    PROFILES,
    SCORES,
    JudgedMove,
    JudgmentVerdict,
    MoveNumbers,
    MoveStanding,
    PlanVerdict,
    RiskProfile,
    arbiter_choice,
    move_verdict,
    stay_verdict,
    tiebreak_value,
    winners,
)
from agents.numbers.survival import StressBuffers

ACCEPT, REVISE, VETO = JudgmentVerdict
BALANCED, AGGRESSIVE = PROFILES[RiskProfile.BALANCED], PROFILES[RiskProfile.AGGRESSIVE]


def buffers(hours: float) -> StressBuffers:
    return StressBuffers(hours, hours / 4, hours / 9)


def judged(
    index: int,
    verdict: JudgmentVerdict,
    hours: float,
    fees: float | None = 5.0,
    net: float | None = None,
) -> JudgedMove:
    numbers = MoveNumbers(True, buffers(hours), 100, fees, 0.1, 1.0)
    return JudgedMove(index, numbers, verdict, net)


# Wider pays less: three accepted widths of unknown net, each profile's favourite another one.
ACCEPTED = (judged(0, ACCEPT, 400, 2.0), judged(1, ACCEPT, 54, 8.0), judged(2, ACCEPT, 25, 11.0))


@pytest.mark.parametrize(
    ("profile", "index"),
    [(RiskProfile.CONSERVATIVE, 0), (RiskProfile.BALANCED, 1), (RiskProfile.AGGRESSIVE, 2)],
)
def test_what_nets_alike_or_unknown_goes_by_the_profiles_axis(
    profile: RiskProfile, index: int
) -> None:
    for nets in ((None, None, None), (10.0, 10.4, 10.9)):
        moves = [replace(move, net_7d=net) for move, net in zip(ACCEPTED, nets, strict=True)]
        chosen = arbiter_choice(PROFILES[profile], moves)
        assert chosen is not None
        assert chosen.index == index


def test_the_highest_net_wins_whatever_the_axis_says() -> None:
    for profile in (RiskProfile.BALANCED, RiskProfile.AGGRESSIVE):
        for best in range(3):
            moves = [replace(move, net_7d=3.0 if move.index == best else 1.5) for move in ACCEPTED]
            chosen = arbiter_choice(PROFILES[profile], moves)
            assert chosen is not None
            assert chosen.index == best


def test_conservative_first_asks_for_half_as_much_again_as_its_floor() -> None:
    rules = PROFILES[RiskProfile.CONSERVATIVE]
    narrow, roomy, wide = (
        judged(0, ACCEPT, 53.9, net=90.0),
        judged(1, ACCEPT, 54.0, net=20.0),
        judged(2, ACCEPT, 200.0, net=12.0),
    )
    assert arbiter_choice(rules, [narrow, roomy, wide]) == roomy
    assert arbiter_choice(rules, [narrow, judged(1, ACCEPT, 40.0, net=20.0)]) == narrow
    assert arbiter_choice(BALANCED, [narrow, roomy, wide]) == narrow


def test_the_balanced_product_is_capped_at_twice_the_floor() -> None:
    def value(hours: float, fees: float) -> float:
        return tiebreak_value(BALANCED, MoveStanding(2.0, hours, hours / 4, 0.0, fees))

    assert value(400, 2.0) == 48 * 2.0
    assert value(25, 11.0) == 25 * 11.0


def test_the_score_comes_before_the_net() -> None:
    moves = [
        judged(0, REVISE, 900, 90.0, 99.0),
        judged(1, ACCEPT, 30, 1.0, 1.0),
        judged(2, VETO, 999, 99.0, 500.0),
    ]
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


@pytest.mark.parametrize("profile", RiskProfile)
def test_many_positions_at_once_are_chosen_for_as_one_by_one(profile: RiskProfile) -> None:
    random, many = np.random.default_rng(3), 4_000
    verdicts = random.choice([verdict.value for verdict in JudgmentVerdict], (4, many))
    hours, fees = random.uniform(5, 120, (4, many)), random.uniform(0, 20, (4, many))
    # In halves, so that many are alike.
    nets = np.round(random.uniform(-4, 4, (4, many)) * 2) / 2
    rows = [
        MoveStanding(
            np.array([SCORES[JudgmentVerdict(verdict)] for verdict in verdicts[row]]),
            hours[row],
            hours[row] / 4,
            nets[row],
            fees[row],
        )
        for row in range(4)
    ]
    at_once = np.array(winners(PROFILES[profile], rows, np.maximum.reduce))

    for place in range(many):
        moves = [
            judged(
                row,
                JudgmentVerdict(verdicts[row, place]),
                float(hours[row, place]),
                float(fees[row, place]),
                float(nets[row, place]),
            )
            for row in range(4)
        ]
        chosen = arbiter_choice(PROFILES[profile], moves)
        expected = [chosen is not None and chosen.index == row for row in range(4)]
        assert (at_once[:, place] > 0).tolist() == expected


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
