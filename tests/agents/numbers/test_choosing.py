"""The profiles' table, the judging of moves, tiebreaks, the Arbiter's score, and the verdict."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.numbers.rules import (
    PROFILES,
    SCORES,
    Decision,
    JudgedMove,
    JudgmentVerdict,
    MoveNumbers,
    MoveStanding,
    PlanVerdict,
    RiskProfile,
    Rule,
    Tiebreak,
    arbiter_choice,
    decide,
    judge_move,
    move_verdict,
    stay_verdict,
    strictest,
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


ACCEPT, REVISE, VETO = JudgmentVerdict

TABLE = [
    ("conservative", 36, 1.2, 0.5, Tiebreak.STRESSED_BUFFER),
    ("balanced", 24, 1.6, 0.75, Tiebreak.BUFFER_AND_YIELD),
    ("aggressive", 14, 2.4, 1.0, Tiebreak.YIELD),
]


def move(
    *,
    inside: bool = True,
    buffer: float = 100.0,
    gas_yield: float | None = 0.1,
    break_even: float | None = 1.0,
    median: float = 100.0,
) -> MoveNumbers:
    buffers = StressBuffers(buffer, buffer / 4, buffer / 9)
    return MoveNumbers(inside, buffers, median, 10.0, gas_yield, break_even)


@pytest.mark.parametrize(("name", "floor", "ceiling", "share", "tiebreak"), TABLE)
def test_the_table(
    name: str, floor: float, ceiling: float, share: float, tiebreak: Tiebreak
) -> None:
    rules = PROFILES[RiskProfile(name)]
    assert rules.buffer_floor_hours == floor
    assert rules.gas_yield_ceiling == ceiling
    assert rules.break_even_life_share == share
    assert rules.tiebreak is tiebreak


def test_there_are_three_profiles_and_no_fourth() -> None:
    assert set(PROFILES) == set(RiskProfile)


@pytest.mark.parametrize("profile", RiskProfile)
def test_both_sides_of_every_limit(profile: RiskProfile) -> None:
    rules = PROFILES[profile]
    floor, ceiling = rules.buffer_floor_hours, rules.gas_yield_ceiling
    late = rules.break_even_life_share * 100.0
    cases = [
        (move(inside=False), VETO, Rule.PRICE_INSIDE),
        (move(buffer=floor / 2 - 0.01), VETO, Rule.BUFFER_FLOOR),
        (move(buffer=floor / 2), REVISE, Rule.BUFFER_FLOOR),
        (move(buffer=floor - 0.01), REVISE, Rule.BUFFER_FLOOR),
        (move(buffer=floor), ACCEPT, Rule.BUFFER_FLOOR),
        (move(gas_yield=2 * ceiling + 0.01), VETO, Rule.GAS_YIELD),
        (move(gas_yield=inf), VETO, Rule.GAS_YIELD),
        (move(gas_yield=2 * ceiling), REVISE, Rule.GAS_YIELD),
        (move(gas_yield=ceiling + 0.01), REVISE, Rule.GAS_YIELD),
        (move(gas_yield=None), REVISE, Rule.GAS_YIELD),
        (move(gas_yield=ceiling), ACCEPT, Rule.GAS_YIELD),
        (move(break_even=late + 0.01), REVISE, Rule.BREAK_EVEN),
        (move(break_even=inf), REVISE, Rule.BREAK_EVEN),
        (move(break_even=None), REVISE, Rule.BREAK_EVEN),
        (move(break_even=late), ACCEPT, Rule.BREAK_EVEN),
    ]
    for numbers, verdict, rule in cases:
        judgment = judge_move(numbers, rules)
        assert judgment.verdict is verdict, numbers
        finding = next(finding for finding in judgment.findings if finding.rule is rule)
        assert finding.verdict is verdict
        assert finding.words
        assert [objection.rule for objection in judgment.objections] == (
            [] if verdict is ACCEPT else [rule]
        )


def test_findings_carry_the_number_and_its_limit() -> None:
    judgment = judge_move(move(buffer=20.0), PROFILES[RiskProfile.BALANCED])
    (objection,) = judgment.objections
    assert (objection.value, objection.limit) == (20.0, 24)
    assert objection.words == "it lasts only 20 h at 95% confidence; your floor is 24 h"


numbers = st.builds(
    move,
    inside=st.booleans(),
    buffer=st.floats(0, 200),
    gas_yield=st.one_of(st.none(), st.just(inf), st.floats(0, 10)),
    break_even=st.one_of(st.none(), st.just(inf), st.floats(0, 500)),
    median=st.floats(0.1, 500),
)


@given(numbers, st.sampled_from(RiskProfile))
def test_what_is_accepted_keeps_every_floor(judged: MoveNumbers, profile: RiskProfile) -> None:
    rules = PROFILES[profile]
    judgment = judge_move(judged, rules)
    keeps = (
        judged.price_inside
        and judged.buffers.at_1x >= rules.buffer_floor_hours
        and judged.gas_yield is not None
        and judged.gas_yield <= rules.gas_yield_ceiling
        and judged.break_even_hours is not None
        and judged.break_even_hours <= rules.break_even_life_share * judged.median_life_hours
    )
    assert (judgment.verdict is ACCEPT) == keeps


@given(st.sampled_from(JudgmentVerdict), st.sampled_from(JudgmentVerdict))
def test_a_model_can_only_be_stricter(by_rules: JudgmentVerdict, by_model: JudgmentVerdict) -> None:
    order = [ACCEPT, REVISE, VETO]
    joined = strictest((by_rules, by_model))
    assert order.index(joined) == max(order.index(by_rules), order.index(by_model))


@pytest.mark.parametrize(
    ("verdicts", "decision"),
    [
        ([VETO, ACCEPT, REVISE], Decision.ACCEPT),
        ([VETO, REVISE], Decision.REVISE),
        ([VETO, VETO], Decision.VETO_ALL),
        ([], Decision.VETO_ALL),
    ],
)
def test_the_decision(verdicts: list[JudgmentVerdict], decision: Decision) -> None:
    assert decide(verdicts) is decision
