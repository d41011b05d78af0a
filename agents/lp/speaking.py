"""How an agent speaks: a model's prose checked number by number, or the rules' own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from agents.bus.envelope import Kind, Role
from agents.bus.worker import Outgoing
from agents.lp.briefing import Brief
from agents.lp.payloads import StruckClaim, Thought
from agents.model.interface import ModelUnavailable

if TYPE_CHECKING:
    from agents.bus.worker import HandlerContext
    from agents.lp.facts import CreateContext, CreateGoal, MarketContext
    from agents.lp.payloads import Debate
    from agents.model.interface import Model
    from agents.numbers.profiles import RiskProfile

Reply = TypeVar("Reply", bound=BaseModel)


class Eyes(Protocol):
    """What Scout sees the chain with."""

    async def observe_position(self, token_id: int, profile: RiskProfile) -> MarketContext: ...

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext: ...


class DebateServices(Struct, frozen=True):
    """What one debate works with; without a model the rules speak."""

    eyes: Eyes
    model: Model | None


class Spoken(Struct, Generic[Reply], frozen=True):
    """A model's reply, or the reason there is none."""

    reply: Reply | None
    silence: str = ""


def briefed(
    context: HandlerContext[DebateServices],
    facts: MarketContext | CreateContext,
    debate: Debate | None,
) -> Brief:
    """What the agent's model is told; nothing is written where there is none to read it."""
    brief = Brief(context.role)
    if context.services.model is None:
        return brief
    brief.market(facts)
    if context.role is Role.STRATEGIST:
        brief.bounds()
    if debate is not None:
        brief.table(debate)
    return brief


async def ask(
    context: HandlerContext[DebateServices], brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    model = context.services.model
    if model is None:
        return Spoken(None)
    try:
        answer = await model.ask(context.role, brief.prompt, schema, context.prose)
    except ModelUnavailable as error:
        return Spoken(None, f"{error} The rules speak instead.")
    return Spoken(answer.value)


def thought(round_number: int, tag: str, text: str) -> Outgoing:
    """Words of code: its numbers are its own."""
    return Outgoing(Kind.AGENT_THOUGHT, Role.CLI, Thought(round=round_number, tag=tag, text=text))


def model_thought(
    round_number: int, tag: str, text: str, brief: Brief, *, lead: str = ""
) -> Outgoing:
    """Words of a model: each number in them is held against the ones it was given.

    The lead is code's own and stands before them.
    """
    report = brief.ledger.check(text)
    behind = len(lead)
    struck = tuple(
        StruckClaim(start=behind + flag.start, end=behind + flag.end, why=flag.kind.value)
        for flag in report.flags
    )
    said = Thought(
        round=round_number, tag=tag, text=lead + text, struck=struck, cited=report.matched
    )
    return Outgoing(Kind.AGENT_THOUGHT, Role.CLI, said)
