"""How an office of the desk asks its model, and what is said where another one answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from agents.model.speaking import SILENCE, Spoken, ask, thought

if TYPE_CHECKING:
    from agents.bus.worker import HandlerContext, Outgoing
    from agents.model.brief import Brief
    from agents.model.interface import Model
    from agents.trade.services import TradeServices

Reply = TypeVar("Reply", bound=BaseModel)
STAND_IN = "stand_in"
"""The tag of a thought that says which model answered in place of the one that was asked."""


def asked_model(context: HandlerContext[TradeServices]) -> Model | None:
    """Who is asked for this role, if anybody."""
    services = context.services
    return services.model if context.role in services.names else None


async def office_reply(
    context: HandlerContext[TradeServices], brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    return await ask(context, asked_model(context), brief, schema)


def asides(context: HandlerContext[TradeServices], spoken: Spoken[Reply]) -> Iterator[Outgoing]:
    """Why a model is silent, or who stood in for it."""
    if spoken.silence:
        yield thought(0, SILENCE, spoken.silence)
    first = context.services.names.get(context.role, "")
    if spoken.model and spoken.model != first:
        yield thought(0, STAND_IN, f"{first} could not answer; {spoken.model} speaks for it.")
