"""One call to a model: what is sent by what its server can do, and what comes back of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from agents.model.abilities import ReplyForm, ServerAbilities
from agents.model.connection import ModelConnections
from agents.model.faults import ModelFaults, RequestRefusedError
from agents.model.incoming_reply import (
    Hearers,
    IncomingReply,
    ModelCompletion,
    read_delta,
    read_error,
    read_usage,
)
from agents.model.interface import ModelUnavailable, Unavailability, Usage
from agents.model.settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncStream
    from openai.types.chat import (
        ChatCompletion,
        ChatCompletionChunk,
        ChatCompletionMessageParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.chat.completion_create_params import ResponseFormat

    from agents.model.pending_question import ModelQuestion

_BAD_REQUEST = 400


class ModelCall(Struct, frozen=True):
    """A question as it is put to one server."""

    settings: ModelSettings
    question: ModelQuestion
    able: ServerAbilities
    tokens: int
    """The limit of the reply, thinking included."""

    @property
    def has_tools(self) -> bool:
        return self.question.offers_tools(self.able)


class ModelExchange:
    def __init__(self, connections: ModelConnections, *, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    async def once(self, call: ModelCall, hearers: Hearers) -> ModelCompletion:
        """Raises ModelUnavailable, TryLaterError or RequestRefusedError, nothing of the library's.

        Each says in words of ours what happened, and holds nothing that the endpoint wrote.
        """
        faults = ModelFaults(call.settings, call.tokens, self._clock, has_tools=call.has_tools)
        try:
            if call.able.streams:
                return await self._streamed(call, hearers, faults)
            return _completion(await self._whole(call), call, hearers, faults)
        except (ModelUnavailable, RequestRefusedError) as error:
            fault: Exception = error
        except Exception as error:  # the library's errors hold the key: none may pass
            fault = faults.of(error)
        # Raised out here so that the library's exception does not travel along as context.
        raise fault

    async def _whole(self, call: ModelCall) -> ChatCompletion:
        from openai import omit

        client = await self._connections.client(call.settings)
        async with _patience(call.settings.limits.total_seconds, "did not answer"):
            return await client.chat.completions.create(
                model=call.settings.model,
                messages=_messages(call),
                response_format=_response_format(call) or omit,
                tools=_tools(call) or omit,
                max_completion_tokens=_limit(call, "max_completion_tokens") or omit,
                max_tokens=_limit(call, "max_tokens") or omit,
                temperature=omit if (chosen := _temperature(call)) is None else chosen,
            )

    async def _streamed(
        self, call: ModelCall, hearers: Hearers, faults: ModelFaults
    ) -> ModelCompletion:
        from openai import omit

        client = await self._connections.client(call.settings)
        async with _patience(call.settings.limits.first_seconds, "did not begin to answer"):
            stream = await client.chat.completions.create(
                model=call.settings.model,
                messages=_messages(call),
                response_format=_response_format(call) or omit,
                tools=_tools(call) or omit,
                stream=True,
                stream_options={"include_usage": True} if call.able.counts_stream else omit,
                max_completion_tokens=_limit(call, "max_completion_tokens") or omit,
                max_tokens=_limit(call, "max_tokens") or omit,
                temperature=omit if (chosen := _temperature(call)) is None else chosen,
            )
        faults.streaming = True
        try:
            header = stream.response.headers.get("content-type", "")
            kind = header.partition(";")[0].strip().lower()
            if kind == "text/html":
                raise faults.no_model_speaks()
            if kind == "application/json":
                # Asked for a stream, it answered in one piece.
                async with _patience(call.settings.limits.total_seconds, "did not answer"):
                    body = json.loads(await stream.response.aread())
                return _completion(body, call, hearers, faults)
            return await _read(stream, call, hearers)
        finally:
            await stream.close()


async def _read(
    stream: AsyncStream[ChatCompletionChunk], call: ModelCall, hearers: Hearers
) -> ModelCompletion:
    limits = call.settings.limits
    reply = IncomingReply(call.settings.limits.reply_bytes, hearers, tools=call.has_tools)
    usage: Usage | None = None
    seconds, failing = limits.first_seconds, "did not begin to answer"
    while True:
        try:
            async with _patience(seconds, failing):
                chunk = await anext(stream, None)
        except Exception:
            # After the last word only the bill is missing: what fails there spoils nothing.
            if reply.finish is None and not reply.refused:
                raise
            break
        if chunk is None:
            break
        usage = read_usage(chunk) or usage
        if reply.take(read_delta(chunk)):
            # Only now: a chunk that names the speaker says nothing yet.
            seconds, failing = limits.stall_seconds, "fell silent"
    return reply.completion(usage)


def _completion(
    body: object, call: ModelCall, hearers: Hearers, faults: ModelFaults
) -> ModelCompletion:
    """A reply that came in one piece."""
    if (error := read_error(body)) is not None:
        learnable = faults.of_words(_BAD_REQUEST, json.dumps(error, default=str))
        sentence = "The model's endpoint sent an error as its answer."
        raise learnable or ModelUnavailable(Unavailability.SERVER_ERROR, sentence)
    reply = IncomingReply(call.settings.limits.reply_bytes, hearers, tools=call.has_tools)
    delta = read_delta(body)
    said = delta.text or delta.calls
    reply.take(replace(delta, finish=delta.finish or ("stop" if said else None)))
    return replace(reply.completion(read_usage(body)), streamed=False)


@asynccontextmanager
async def _patience(seconds: float, failing: str) -> AsyncGenerator[None, None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        sentence = f"The model {failing} for {seconds:g} seconds."
    else:
        return
    raise ModelUnavailable(Unavailability.STALLED, sentence)


def _messages(call: ModelCall) -> list[ChatCompletionMessageParam]:
    return cast("list[ChatCompletionMessageParam]", call.question.messages_for(call.able))


def _tools(call: ModelCall) -> list[ChatCompletionToolUnionParam] | None:
    if not call.has_tools:
        return None
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.does,
                "parameters": tool.schema,
            },
        }
        for tool in call.question.tools
    ]


def _response_format(call: ModelCall) -> ResponseFormat | None:
    match call.question.form(call.able):
        case ReplyForm.SCHEMA:
            question = call.question
            return {
                "type": "json_schema",
                "json_schema": {
                    "name": question.schema_name,
                    "schema": dict(question.schema),
                    "strict": True,
                },
            }
        case ReplyForm.JSON:
            return {"type": "json_object"}
        case ReplyForm.TEXT:
            return None


def _limit(call: ModelCall, name: str) -> int | None:
    return call.tokens if call.able.limit_name == name else None


def _temperature(call: ModelCall) -> float | None:
    return call.settings.temperature if call.able.takes_temperature else None
