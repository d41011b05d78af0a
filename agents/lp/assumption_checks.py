"""Whether a choice would be the same in a market that is otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.advising import standing_advice, still_permitted
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import MarketContext
from agents.lp.plan import AssumptionCheck
from agents.numbers.advice import AdvisedAction
from agents.numbers.assumptions import MULTIPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.lp.evaluation import Evaluated
    from agents.lp.evaluation_context import EvaluationContext
    from agents.lp.facts import CreateContext
    from agents.lp.plan import Choice
    from agents.numbers.assumptions import MarketMultiples

    Context = MarketContext | CreateContext


def assumption_checks(
    context: Context, moves: Sequence[Evaluated], choice: Choice
) -> tuple[AssumptionCheck, ...]:
    """Volatility and fees, half and twice: which of them leave the choice as it is."""
    grounds = {_pool_index(move): _ground(context, move) for move in moves}
    return tuple(
        AssumptionCheck(
            assumption=assumption, survives=_same(context, grounds, moves, choice, changed)
        )
        for assumption, changed in MULTIPLES.items()
    )


def _same(
    context: Context,
    grounds: dict[int, EvaluationContext],
    moves: Sequence[Evaluated],
    choice: Choice,
    changed: MarketMultiples,
) -> bool | None:
    leaves = False
    if isinstance(context, MarketContext):
        evaluation = evaluation_of(context)
        if evaluation.dangers:
            # A door that can be shut is a reason in any market.
            return True
        advice = standing_advice(context, evaluation, changed)
        if not advice.known:
            return None
        leaves = advice.action is AdvisedAction.EXIT
    if choice.kind == "exit":
        return leaves
    if leaves:
        return False
    if any(ground.market.edge_7d is None for ground in grounds.values()):
        return None
    permitted = [
        move.candidate.index
        for move in moves
        if still_permitted(context, grounds[_pool_index(move)], move, changed)
    ]
    return choice.index in permitted if choice.kind == "move" else not permitted


def _pool_index(move: Evaluated) -> int:
    shape = move.candidate.shape
    return 0 if shape is None else shape.pool_index


def _ground(context: Context, move: Evaluated) -> EvaluationContext:
    return evaluation_of(context, _pool_index(move))
