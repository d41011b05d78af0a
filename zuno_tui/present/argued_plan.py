"""A plan with what stands beside it: on which record it was argued, and by which model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.envelope import Role, Thought
from agents.bus.plan_store import PlanDocument, record_hash
from agents.bus.run import ArgumentEnd, SpokenTurn
from agents.lp.plan_document import plan_in, was_edited
from agents.model.speaking import RULES_INSTEAD, SILENCE

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from agents.model.budget import BudgetReport


class ModelUse(Struct, frozen=True):
    """What a debate took of the model, and how the model kept to its numbers."""

    tokens: int
    most_tokens: int | None
    dollars: float | None
    cited: int
    struck: int


class ArguedPlan(Struct, frozen=True):
    plan: Plan
    request_id: str
    record_hash: str | None
    """The last hash of its record; None where the plan's file names none."""
    model: ModelUse | None
    """None where no model was asked."""
    document: PlanDocument
    """As it is kept, and printed for programs."""

    @property
    def is_edited(self) -> bool:
        """Whether its file was changed since it was made."""
        return was_edited(self.plan)


def just_argued(
    ended: ArgumentEnd[Plan], document: PlanDocument, spent: BudgetReport | None
) -> ArguedPlan:
    """Of a debate that has ended in a plan."""
    if ended.plan is None:
        raise ValueError("A debate without a plan has nothing to show.")
    return ArguedPlan(
        plan=ended.plan,
        request_id=ended.request_id,
        record_hash=record_hash(document),
        model=None if spent is None else _used(ended, spent),
        document=document,
    )


def plan_of_document(document: PlanDocument) -> ArguedPlan:
    """Of a plan that was kept."""
    return ArguedPlan(
        plan=plan_in(document),
        request_id=str(document.get("requestId")),
        record_hash=record_hash(document),
        model=_recorded_use(document),
        document=document,
    )


def _used(ended: ArgumentEnd[Plan], spent: BudgetReport) -> ModelUse:
    return ModelUse(
        tokens=spent.debate.tokens,
        most_tokens=spent.limits.debate_tokens,
        dollars=None if spent.debate.unpriced_tokens else spent.debate.nano_usd / 1e9,
        cited=sum(turn.thought.cited for turn in ended.transcript),
        struck=sum(len(turn.thought.struck) for turn in ended.transcript),
    )


def _recorded_use(document: PlanDocument) -> ModelUse | None:
    match document:
        case {
            "claims": {"cited": int(cited), "struck": int(struck)},
            "budget": {"tokens": int(tokens), "debateLimit": limit, "dollars": dollars},
        }:
            most = limit if isinstance(limit, int) else None
            price = dollars if isinstance(dollars, float) else None
            return ModelUse(tokens, most, price, cited, struck)
    return None


def silences_in(argued: ArguedPlan) -> tuple[str, ...]:
    """Why the rules spoke in place of the model, each time that they did."""
    said = (turn.thought for turn in recorded_turns(argued.document))
    return tuple(
        thought.text.removesuffix(RULES_INSTEAD).rstrip()
        for thought in said
        if thought.tag == SILENCE
    )


def recorded_turns(document: PlanDocument) -> Iterator[SpokenTurn]:
    """What was said for a plan that was kept, in the order it was said."""
    turns = document["transcript"]
    for turn in turns if isinstance(turns, list) else []:
        said = {name: value for name, value in turn.items() if name != "role"}
        yield SpokenTurn(Role(turn["role"]), Thought.model_validate(said, strict=False))
