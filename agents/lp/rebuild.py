"""A plan that agents elsewhere made, made again here: what they say is a hint, not a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.debate import replay_debate
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.services import recorded_context

if TYPE_CHECKING:
    from agents.bus.replay import Record
    from agents.lp.plan import Plan

MOST_TICKS_APART = 500
"""Between the Scout's block and a later one here: five per cent."""


class PlanRefusedError(Exception):
    """What came is not what its own facts give, or not about what was asked."""


async def refuse_unless_rebuilt(
    plan: Plan,
    record: Record,
    start: FlowStart | FlowCreateStart,
    chain_id: int,
    seen_here: MarketContext | None,
) -> None:
    """Run the debate again from its record, and hold its facts against what is asked and seen."""
    context = recorded_context(record)
    if context is None:
        raise PlanRefusedError("It names no facts that it was made from.")
    if context.chain_id != chain_id:
        raise PlanRefusedError("The Scout looked at another network.")
    _refuse_other_question(context, start)
    if isinstance(context, MarketContext) and seen_here is not None:
        _refuse_other_facts(context, seen_here)
    _, again = await replay_debate(record)
    if again.plan != plan:
        raise PlanRefusedError("The same debate, held here, comes to another plan.")


def _refuse_other_question(
    context: MarketContext | CreateContext, start: FlowStart | FlowCreateStart
) -> None:
    asked: object
    found: object
    if isinstance(start, FlowStart) and isinstance(context, MarketContext):
        asked = start.token_id, start.last_action_time
        found = context.position.token_id, context.position.last_action_time
    elif isinstance(start, FlowCreateStart) and isinstance(context, CreateContext):
        asked, found = (start.goal, start.owner), (context.goal, context.owner)
    else:
        asked, found = start, context
    if asked != found or (start.profile, start.allowed_hooks) != (
        context.profile,
        context.allowed_hooks,
    ):
        raise PlanRefusedError("The Scout looked at something else than was asked for.")


def _refuse_other_facts(theirs: MarketContext, ours: MarketContext) -> None:
    """What the chain says of the position here: the same at one block, and much the same later."""
    if theirs.block == ours.block:
        same = (
            theirs.block_hash == ours.block_hash
            and theirs.position.model_copy(update={"last_action_time": None})
            == ours.position.model_copy(update={"last_action_time": None})
            and theirs.observed.pool == ours.observed.pool
        )
    else:
        apart = abs(theirs.observed.pool.tick - ours.observed.pool.tick)
        same = _identity(theirs) == _identity(ours) and apart <= MOST_TICKS_APART
    if not same:
        raise PlanRefusedError("The chain, read here, says otherwise than the Scout.")


def _identity(context: MarketContext) -> tuple[object, ...]:
    position, pool = context.position, context.observed.pool
    return (
        position.token_id,
        position.owner,
        position.tick_lower,
        position.tick_upper,
        pool.pool_id,
        pool.hooks,
    )
