"""A plan that agents elsewhere made, made again here: what they say is a hint, not a number."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agents.lp.advising import standing_advice
from agents.lp.conclude import is_permitted
from agents.lp.debate import replay_debate
from agents.lp.evaluation import evaluate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.fact_check import differing_fact
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.judge import judged_round
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.second_opinion import last_proposal
from agents.lp.services import recorded_context
from agents.numbers.rules import strictest
from agents.numbers.shapes import ShapeError
from chain.math.liquidity import LiquidityError

if TYPE_CHECKING:
    from agents.bus.replay import Record
    from agents.lp.plan import Candidate, Plan, ShapeChoice


class PlanFault(StrEnum):
    NO_FACTS = "no facts"
    OTHER_NETWORK = "other network"
    OTHER_QUESTION = "other question"
    OTHER_PLAN = "other plan"
    """Than the debate, held again here, comes to."""
    OTHER_FACTS = "other facts"
    OTHER_ADVICE = "other advice"
    """Than the facts read here give."""


class PlanRefusedError(Exception):
    """What came is not what its own facts give, or not about what was asked."""

    def __init__(self, fault: PlanFault, words: str) -> None:
        super().__init__(words)
        self.fault = fault


async def refuse_unless_rebuilt(
    plan: Plan,
    record: Record,
    start: FlowStart | FlowCreateStart,
    chain_id: int,
    seen_here: MarketContext | CreateContext,
) -> None:
    """Run the debate again from its record, and hold its facts against what is asked and seen."""
    context = _facts(record)
    if context.chain_id != chain_id:
        raise PlanRefusedError(PlanFault.OTHER_NETWORK, "The Scout looked at another network.")
    _refuse_other_question(context, start)
    _, again = await replay_debate(record)
    if again.plan != plan:
        raise PlanRefusedError(
            PlanFault.OTHER_PLAN, "The same debate, held here, comes to another plan."
        )
    _refuse_other_facts(plan, context, seen_here)
    _refuse_other_advice(plan, record, context, _as_the_desk_knows(seen_here, start))


def _facts(record: Record) -> MarketContext | CreateContext:
    try:
        context = recorded_context(record)
    except ValidationError:
        raise PlanRefusedError(
            PlanFault.NO_FACTS, "The facts it was made from cannot be read."
        ) from None
    if context is None:
        raise PlanRefusedError(PlanFault.NO_FACTS, "It names no facts that it was made from.")
    return context


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
        raise PlanRefusedError(
            PlanFault.OTHER_QUESTION, "The Scout looked at something else than was asked for."
        )


def _refuse_other_facts(
    plan: Plan, theirs: MarketContext | CreateContext, ours: MarketContext | CreateContext
) -> None:
    spoken_of = {one.pool_id for one in plan.pools} | {plan.recommended.pool_id}
    differing = differing_fact(theirs, ours, spoken_of)
    if differing is not None:
        raise PlanRefusedError(
            PlanFault.OTHER_FACTS,
            f"The chain, read here, says otherwise than the Scout: {differing}.",
        )


def _refuse_other_advice(
    plan: Plan,
    record: Record,
    theirs: MarketContext | CreateContext,
    ours: MarketContext | CreateContext,
) -> None:
    """What is advised must stand by the facts read here, too: no room of theirs buys a move."""
    if plan.choice.kind == "move":
        _refuse_move(plan, record, ours)
    elif isinstance(theirs, MarketContext) and isinstance(ours, MarketContext):
        said, found = (standing_advice(one, evaluation_of(one)).action for one in (theirs, ours))
        if said is not found:
            raise PlanRefusedError(
                PlanFault.OTHER_ADVICE,
                f"By the facts read here the position's advice is {found.value}, not {said.value}.",
            )


def _refuse_move(plan: Plan, record: Record, ours: MarketContext | CreateContext) -> None:
    move = plan.recommended
    shape = _shape_of(move, record)
    if shape is None or move.judgment is None:
        raise PlanRefusedError(
            PlanFault.OTHER_PLAN, "The move it recommends is not among those that were proposed."
        )
    here = shape.model_copy(update={"pool_index": _pool_index(ours, move.pool_id)})
    try:
        again = evaluate(evaluation_of(ours, here.pool_index), here, 0)
    except (ShapeError, LiquidityError) as error:
        raise PlanRefusedError(
            PlanFault.OTHER_ADVICE, f"The move it recommends cannot be made here. {error}"
        ) from None
    [judged] = judged_round(ours, (again,), {}).moves
    hardest = strictest((judged.judgment.by_rules, move.judgment.by_rules))
    if hardest is not move.judgment.by_rules or not is_permitted(ours, judged):
        raise PlanRefusedError(
            PlanFault.OTHER_ADVICE,
            "By the facts read here the move it recommends does not keep the rules: "
            f"{judged.judgment.reason}.",
        )


def _shape_of(move: Candidate, record: Record) -> ShapeChoice | None:
    """The form that was proposed for it, which the plan itself leaves out."""
    proposal = last_proposal(record)
    for proposed in () if proposal is None else proposal.latest.candidates:
        if proposed.model_copy(update={"shape": None, "judgment": move.judgment}) == move:
            return proposed.shape
    return None


def _pool_index(ours: MarketContext | CreateContext, pool_id: str) -> int:
    pools = (ours.observed,) if isinstance(ours, MarketContext) else ours.surveyed_pools
    for index, observed in enumerate(pools):
        if observed.pool.pool_id == pool_id:
            return index
    raise PlanRefusedError(
        PlanFault.OTHER_ADVICE, "The move it recommends is in a pool that is not found here."
    )


def _as_the_desk_knows(
    ours: MarketContext | CreateContext, start: FlowStart | FlowCreateStart
) -> MarketContext | CreateContext:
    known: dict[str, object] = {"allowed_hooks": start.allowed_hooks}
    if isinstance(ours, MarketContext) and isinstance(start, FlowStart):
        since = {"last_action_time": start.last_action_time}
        known["position"] = ours.position.model_copy(update=since)
    return ours.model_copy(update=known)
