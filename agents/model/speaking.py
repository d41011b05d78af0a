"""How an agent speaks: a model's prose checked number by number, or the rules' own words."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from agents.bus.envelope import CLI, Kind
from agents.bus.payload import ModelReply, StruckClaim, Thought
from agents.bus.worker import Outgoing
from agents.model.interface import ModelUnavailable, Unavailability

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agents.bus.worker import HandlerContext
    from agents.model.brief import Brief
    from agents.model.interface import Answer, Model, ModelPrompt

SILENCE = "silence"
"""The tag of a thought that says why a model did not speak."""
RULES_INSTEAD = "The rules speak instead."

Reply = TypeVar("Reply", bound=BaseModel)
Services = TypeVar("Services")


class Spoken(Struct, Generic[Reply], frozen=True):
    """A model's reply, or the reason there is none."""

    reply: Reply | None
    silence: str = ""


async def ask(
    context: HandlerContext[Services], model: Model | None, brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    """The model's reply to a brief; without one the rules speak."""
    if model is None:
        return Spoken(None)
    try:
        answer = await ask_on_record(context, model, brief.prompt, schema)
    except ModelUnavailable as error:
        return Spoken(None, f"{error} {RULES_INSTEAD}")
    return Spoken(answer.value)


async def ask_on_record(
    context: HandlerContext[Services], model: Model, prompt: ModelPrompt, schema: type[Reply]
) -> Answer[Reply]:
    """Ask, and say what the model replied, usable or not, before anything is made of it."""
    step = next(context.questions)
    try:
        answer = await _in_time(
            context.seconds_left(), model.ask(context.role, prompt, schema, context.prose)
        )
    except ModelUnavailable as error:
        silent = ModelReply(
            step=step,
            prompt=prompt.digest,
            model=None,
            raw=None,
            unavailable=error.reason,
            sentence=str(error),
            tokens_in=0,
            tokens_out=0,
            estimated=False,
        )
        await context.say(Outgoing(Kind.MODEL_REPLY, CLI, silent))
        raise
    reply = ModelReply(
        step=step,
        prompt=prompt.digest,
        model=answer.model,
        raw=answer.raw,
        unavailable=None,
        sentence=None,
        tokens_in=answer.usage.tokens_in,
        tokens_out=answer.usage.tokens_out,
        estimated=answer.usage.estimated,
    )
    await context.say(Outgoing(Kind.MODEL_REPLY, CLI, reply))
    return answer


async def _in_time(seconds: float, asking: Coroutine[None, None, Answer[Reply]]) -> Answer[Reply]:
    """What a model answers before the debate's time for models is over."""
    limit = asyncio.timeout(None if seconds == inf else max(0.0, seconds))
    try:
        async with limit:
            return await asking
    except TimeoutError:
        if not limit.expired():
            raise
    raise ModelUnavailable(
        Unavailability.TIMED_OUT, "The time that models have in this debate is over."
    )


def thought(round_number: int, tag: str, text: str) -> Outgoing:
    """Words of code: its numbers are its own."""
    return Outgoing(Kind.AGENT_THOUGHT, CLI, Thought(round=round_number, tag=tag, text=text))


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
    return Outgoing(Kind.AGENT_THOUGHT, CLI, said)
