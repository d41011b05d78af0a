"""The profiles' table and the judging of moves, on both sides of every limit."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.rules import (
    PROFILES,
    Decision,
    JudgmentVerdict,
    MoveNumbers,
    RiskProfile,
    Rule,
    Tiebreak,
    decide,
    judge_move,
    strictest,
)
from agents.numbers.survival import StressBuffers

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
