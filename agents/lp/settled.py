"""What the rule has decided before anybody argues: no proposal could change it."""

from __future__ import annotations

from agents.lp.advising import standing_advice
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import CreateContext, MarketContext
from agents.numbers.advice import Advice, AdviceReason, AdvisedAction
from chain.base.once_per_object import once_per_object

_ARGUABLE = frozenset((AdviceReason.IN_RANGE, AdviceReason.IN_DEAD_BAND, AdviceReason.NO_CANDIDATE))
"""Where the pool pays, or nearly: there is something to be said for staying and for moving."""


def decided_by_rule(context: MarketContext | CreateContext) -> bool:
    """Whether the rule holds or leaves whatever is proposed, arguable or not."""
    if isinstance(context, CreateContext):
        return _settled_capital(context) is not None
    standing = standing_advice(context, evaluation_of(context))
    return settled(context) is not None or standing.reasons[0] is not AdviceReason.NO_CANDIDATE


@once_per_object
def settled(context: MarketContext | CreateContext) -> Advice | None:
    """The rule's advice where a danger, a pause, an unknown or an unpaid risk decides alone."""
    if isinstance(context, CreateContext):
        return _settled_capital(context)
    evaluation = evaluation_of(context)
    standing = standing_advice(context, evaluation)
    if standing.action is AdvisedAction.EXIT or standing.reasons[0] not in _ARGUABLE:
        return standing
    if not any(evaluation.available):
        return standing._replace(reasons=(AdviceReason.NO_CANDIDATE,))
    return None


def _settled_capital(context: CreateContext) -> Advice | None:
    """None as soon as one pool is safe and may pay for entering it."""
    first = None
    for index in range(len(context.surveyed_pools)):
        evaluation = evaluation_of(context, index)
        standing = standing_advice(context, evaluation)
        if not evaluation.dangers and standing.reasons[0] in _ARGUABLE:
            return None
        first = first or standing
    return first
