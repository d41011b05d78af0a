"""How an agent speaks: a model's prose checked number by number, or the rules' own words."""

import asyncio
from collections.abc import Coroutine, Iterator
from math import inf
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from agents.bus.envelope import CLI, Kind, ModelReply, SpokenTable, StruckClaim, Thought
from agents.bus.worker import HandlerContext, Outgoing
from agents.model.brief import Brief
from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    Unavailability,
    Usage,
)

SILENCE = "silence"
"""The tag of a thought that says why a model did not speak."""
CUT_QUESTION = "cut_question"
"""The tag of a thought that says that a server read only part of what was asked."""
_MOST_BYTES_PER_TOKEN = 8
"""Plain English takes about four, and our questions are full of figures, which take fewer."""
_LEAST_COUNTED = 256
"""Servers that count only what they had not read before report less than this."""
RULES_INSTEAD = "The rules speak instead."

Reply = TypeVar("Reply", bound=BaseModel)
Services = TypeVar("Services")
T = TypeVar("T")


class Spoken(Struct, Generic[Reply], frozen=True):
    """A model's reply, or the reason there is none."""

    reply: Reply | None
    silence: str = ""
    model: str = ""
    """Who replied."""
    reason: Unavailability | None = None
    """Why nobody did; None where nobody was asked."""
    cut: str = ""
    """A warning that its server read only part of the question."""


async def ask(
    context: HandlerContext[Services], model: Model | None, brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    """The model's reply to a brief; without one the rules speak."""
    if model is None:
        return Spoken(None)
    try:
        answer = await ask_on_record(context, model, brief.prompt, schema)
    except ModelUnavailable as error:
        return Spoken(None, f"{error} {RULES_INSTEAD}", reason=error.reason)
    cut = cut_question(brief.prompt, answer.usage)
    return Spoken(answer.value, model=answer.model, cut=cut)


def cut_question(prompt: ModelPrompt, usage: Usage) -> str:
    """Some servers drop what does not fit their context, and answer as if they had read it all."""
    size = len((prompt.system + prompt.user).encode("utf-8", "replace"))
    least = size // _MOST_BYTES_PER_TOKEN
    if usage.estimated or not _LEAST_COUNTED <= usage.tokens_in < least:
        return ""
    return (
        f"The model's server counted {usage.tokens_in:,} tokens in a question of at least "
        f"{least:,}: it probably read only a part. Give it a larger context (Ollama: num_ctx)."
    )


def about_the_model(round_number: int, spoken: Spoken[Reply]) -> Iterator[Outgoing]:
    """Why a model is silent, or why its words deserve less weight."""
    if spoken.silence:
        yield thought(round_number, SILENCE, spoken.silence)
    if spoken.cut:
        yield thought(round_number, CUT_QUESTION, spoken.cut)


async def ask_on_record(
    context: HandlerContext[Services], model: Model, prompt: ModelPrompt, schema: type[Reply]
) -> Answer[Reply]:
    """Ask, and say what the model replied, usable or not, before anything is made of it."""
    asking = model.ask(context.role, prompt, schema, context.prose)
    answer = await in_time(context, prompt.digest, asking)
    await say_reply(context, prompt.digest, answer)
    return answer


class RecordedReply(Protocol):
    """What of a model's reply goes into the record."""

    @property
    def raw(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def usage(self) -> Usage: ...


async def say_reply(
    context: HandlerContext[Services], prompt_digest: str, replied: RecordedReply
) -> None:
    """What a model replied, for the record."""
    reply = ModelReply(
        step=next(context.questions),
        prompt=prompt_digest,
        model=replied.model,
        raw=replied.raw,
        unavailable=None,
        sentence=None,
        tokens_in=replied.usage.tokens_in,
        tokens_out=replied.usage.tokens_out,
        estimated=replied.usage.estimated,
    )
    await context.say(Outgoing(Kind.MODEL_REPLY, CLI, reply))


async def in_time(
    context: HandlerContext[Services], prompt_digest: str, asking: Coroutine[None, None, T]
) -> T:
    """What a model says before the debate's time for models is over; a failure is recorded."""
    try:
        return await _in_time(context.seconds_left(), asking)
    except ModelUnavailable as error:
        silent = ModelReply(
            step=next(context.questions),
            prompt=prompt_digest,
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


async def _in_time(seconds: float, asking: Coroutine[None, None, T]) -> T:
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


def thought(
    round_number: int, tag: str, text: str, *, table: SpokenTable | None = None
) -> Outgoing:
    """Words of code: its numbers are its own."""
    said = Thought(round=round_number, tag=tag, text=text, table=table)
    return Outgoing(Kind.AGENT_THOUGHT, CLI, said)


def model_thought(
    round_number: int,
    tag: str,
    text: str,
    brief: Brief,
    *,
    lead: str = "",
    table: SpokenTable | None = None,
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
        round=round_number,
        tag=tag,
        text=lead + text,
        struck=struck,
        cited=report.matched,
        table=table,
    )
    return Outgoing(Kind.AGENT_THOUGHT, CLI, said)
