"""What a person wants to keep: no move that sells it passes, whoever proposes it."""

from agents.lp.facts import KeepGoal
from agents.numbers.rules import JudgmentVerdict, Rule
from tests.agents.lp.made_up import TOKEN0, TOKEN1, Market
from tests.agents.lp.one_round import concluded, judged

DAY = 86_400
LEFT_BEHIND = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05)
"""Out of its range, all of it in one token."""


def _held(token: str, *, days: int | None = None) -> KeepGoal:
    now = LEFT_BEHIND.position().time
    return KeepGoal(token=token, until=None if days is None else now + days * DAY)


def test_a_move_that_sells_what_is_to_be_kept_is_vetoed_and_nothing_else_is() -> None:
    context = LEFT_BEHIND.position()
    position = context.position
    held = TOKEN0 if position.amount0 else TOKEN1
    other = TOKEN1 if held == TOKEN0 else TOKEN0
    free = judged(context)
    keeping = judged(context.model_copy(update={"keep": _held(held)}))
    indifferent = judged(context.model_copy(update={"keep": _held(other)}))

    assert [move.judgment for move in indifferent.moves] == [move.judgment for move in free.moves]
    for before, after in zip(free.moves, keeping.moves, strict=True):
        sells = before.candidate.prep_action is not None
        found = [one for one in after.judgment.findings if one.rule == Rule.GOAL]
        assert bool(found) is sells
        verdict = JudgmentVerdict.VETO if sells else before.judgment.verdict
        assert after.judgment.verdict is verdict
    assert any(before.candidate.prep_action for before in free.moves)


def test_the_plan_keeps_the_token() -> None:
    context = LEFT_BEHIND.position()
    held = TOKEN0 if context.position.amount0 else TOKEN1
    free = concluded(context, judged(context))
    wanting = context.model_copy(update={"keep": _held(held)})
    kept = concluded(wanting, judged(wanting))

    assert free.recommended.prep_action is not None
    assert kept.recommended.prep_action is None


def test_a_move_that_pays_back_after_the_day_is_vetoed() -> None:
    context = LEFT_BEHIND.position()
    held = TOKEN0 if context.position.amount0 else TOKEN1
    other = TOKEN1 if held == TOKEN0 else TOKEN0
    for days, late in ((0, True), (3_650, False)):
        moves = judged(context.model_copy(update={"keep": _held(other, days=days)})).moves
        assert any("pays back later" in move.judgment.reason for move in moves) is late
