"""Who decided as the rules, and who changed their mind: counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.scorecard.debate_check import (
    CheckedSituation,
    DebateRun,
    debate_check,
    decision_of,
)
from tests.agents.lp.made_up import Market
from tests.agents.lp.one_round import concluded, judged

if TYPE_CHECKING:
    from agents.lp.plan import Plan


def _move() -> Plan:
    context = Market(0.03, 1.2).position()
    plan = concluded(context, judged(context))
    move = plan.candidates[0]
    chosen = plan.choice.model_copy(update={"kind": "move", "index": 0})
    alone = {"rules_alone": chosen, "rules_move": plan.candidates[1]}
    return plan.model_copy(update={"choice": chosen, "recommended": move, **alone})


MOVE = _move()
HOLD, EXIT = (
    MOVE.model_copy(update={"choice": MOVE.choice.model_copy(update={"kind": kind})})
    for kind in ("hold", "exit")
)
BY_RULES = MOVE.model_copy(update={"recommended": MOVE.candidates[1]})
ELSEWHERE = MOVE.model_copy(update={"recommended": MOVE.candidates[2]})


def run(
    plan: Plan | None, *, questions: int = 3, answers: int = 3, nano_usd: int | None = 1_000
) -> DebateRun:
    return DebateRun(plan, 2.0, 500, nano_usd, questions, answers)


def situation(rules: Plan, *runs: DebateRun) -> CheckedSituation:
    return CheckedSituation("req", "position #7", run(rules, answers=0), runs)


def test_a_move_is_the_same_move_by_its_pool_and_its_range_alone() -> None:
    dearer = MOVE.recommended.model_copy(update={"cost_usd": 99.0})
    assert decision_of(MOVE) == decision_of(MOVE.model_copy(update={"recommended": dearer}))
    assert len({decision_of(one) for one in (MOVE, HOLD, EXIT, BY_RULES, ELSEWHERE)}) == 5


def test_what_to_do_and_the_very_range_are_told_apart() -> None:
    check = debate_check([situation(MOVE, run(MOVE), run(ELSEWHERE), run(EXIT))])
    assert (check.agreed.count, check.agreed_exactly.count, check.agreed.of) == (2, 1, 3)
    assert (check.flipped.count, check.flipped_range.count, check.flipped.of) == (1, 2, 2)


def test_silent_debates_are_in_no_share_and_in_every_bill() -> None:
    check = debate_check(
        [
            situation(HOLD, run(HOLD), run(MOVE), run(HOLD)),
            situation(EXIT, run(None, answers=0), run(EXIT), run(EXIT, nano_usd=None)),
            situation(HOLD, run(HOLD, questions=0, answers=0)),
        ]
    )
    assert (check.agreed.count, check.agreed.of) == (4, 5)
    # Against the first that spoke of the same facts.
    assert (check.flipped.count, check.flipped.of) == (1, 3)
    assert (check.silent.count, check.silent.of) == (1, 6)
    assert (check.settled.count, check.settled.of) == (1, 7)
    assert (check.tokens, check.nano_usd, check.debates) == (3_500, None, 7)
    assert debate_check(()).agreed.part is None
