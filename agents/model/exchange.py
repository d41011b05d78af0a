"""One call to a model: what is sent by what its server can do, and what comes back of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from agents.model.abilities import ReplyForm
from agents.model.budget import estimated_tokens
from agents.model.deltas import Delta, read_delta, read_error, read_usage
from agents.model.faults import ModelFaults, RequestRefusedError
from agents.model.interface import ModelUnavailable, Unavailability
from agents.model.reply_text import whole_text
from agents.model.thinking import ThinkingFilter, after_thinking
from chain.base.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from openai import AsyncStream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam
    from openai.types.chat.completion_create_params import ResponseFormat

    from agents.model.abilities import ServerAbilities
    from agents.model.connection import ModelConnections
    from agents.model.interface import Usage
    from agents.model.settings import ModelSettings

    MessageRole = Literal["system", "user", "assistant"]

_BAD_REQUEST = 400


class Question(Struct, frozen=True):
    messages: tuple[tuple[MessageRole, str], ...]
    schema_name: str
    schema: Mapping[str, object]

    def again(self, reply: str, complaint: str) -> Question:
        """The same question after a reply that could not be used."""
        order = (
            f"That reply cannot be used. {complaint} "
            "Reply again with one JSON object of the given schema and nothing else."
        )
        return replace(self, messages=(*self.messages, ("assistant", reply), ("user", order)))

    def told(self, able: ServerAbilities) -> tuple[tuple[MessageRole, str], ...]:
        """The messages, with the schema in words where the server does not hold the model to it."""
        (_, system), *rest = self.messages
        if able.form is not ReplyForm.SCHEMA:
            schema = canonical(dict(self.schema)).decode()
            system = (
                f"{system}\n\nReply with one JSON object of this JSON schema and nothing else, "
                f"no code fence around it:\n{schema}"
            )
        if able.takes_system:
            return (("system", system), *rest)
        (_, first), *others = rest
        return (("user", f"{system}\n\n{first}"), *others)

    def estimated_tokens(self) -> int:
        texts = [text for _, text in self.messages]
        return estimated_tokens(*texts, canonical(dict(self.schema)).decode())


class ModelCall(Struct, frozen=True):
    """A question as it is put to one server."""

    settings: ModelSettings
    question: Question
    able: ServerAbilities
    tokens: int
    """The limit of the reply, thinking included."""


class Hearers(Struct, frozen=True):
    """Who hears a reply while it is written."""

    text: Callable[[str], None]
    thought: Callable[[], None]


class ModelCompletion(Struct, frozen=True):
    raw: str
    """The answer without the thinking."""
    finish: str | None
    """`stop` or `length`; None when the stream just ended."""
    usage: Usage | None
    thought: str = ""
    streamed: bool = True


class ModelExchange:
    def __init__(self, connections: ModelConnections, *, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    async def once(self, call: ModelCall, hearers: Hearers) -> ModelCompletion:
        """Raises ModelUnavailable, TryLaterError or RequestRefusedError, nothing of the library's.

        Each says in words of ours what happened, and holds nothing that the endpoint wrote.
        """
        faults = ModelFaults(call.settings, call.tokens, self._clock)
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
                stream=True,
                stream_options={"include_usage": True} if call.able.counts_stream else omit,
                max_completion_tokens=_limit(call, "max_completion_tokens") or omit,
                max_tokens=_limit(call, "max_tokens") or omit,
                temperature=omit if (chosen := _temperature(call)) is None else chosen,
            )
        faults.streaming = True
        try:
            kind = stream.response.headers.get("content-type", "")
            if kind.partition(";")[0].strip() == "application/json":
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
    reply = _Reply(call, hearers)
    usage: Usage | None = None
    seconds, failing = limits.first_seconds, "did not begin to answer"
    while True:
        try:
            async with _patience(seconds, failing):
                chunk = await anext(stream, None)
        except Exception:
            # After the last word only the bill is missing: what fails there spoils nothing.
            if reply.finish is None:
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
    reply = _Reply(call, hearers)
    delta = read_delta(body)
    reply.take(replace(delta, finish=delta.finish or ("stop" if delta.text else None)))
    return replace(reply.completion(read_usage(body)), streamed=False)


class _Reply:
    """A reply while it comes in."""

    def __init__(self, call: ModelCall, hearers: Hearers) -> None:
        self._most_bytes = call.settings.limits.reply_bytes
        self._hearers = hearers
        self._filter = ThinkingFilter()
        self._pieces: list[str] = []
        self._calls: list[str] = []
        self._thoughts: list[str] = []
        self._size = 0
        self.finish: str | None = None

    def take(self, delta: Delta) -> bool:
        """Whether it was a sign of life: a word, or a thought."""
        self.finish = delta.finish or self.finish
        if delta.refused or self.finish == "content_filter":
            raise ModelUnavailable(Unavailability.REFUSED, "The model declined to answer.")
        text = self._filter.feed(delta.text)
        self._size += len((text + delta.call).encode("utf-8", "surrogatepass"))
        if self._size > self._most_bytes:
            raise ModelFaults.too_large(self._most_bytes)
        self._pieces.append(text)
        self._calls.append(delta.call)
        self._hearers.text(text or delta.call)
        if delta.thought or self._filter.inside:
            self._thoughts.append(delta.thought or delta.text)
            self._hearers.thought()
        return bool(delta.text or delta.thought or delta.call)

    def completion(self, usage: Usage | None) -> ModelCompletion:
        text = after_thinking(whole_text([*self._pieces, self._filter.close()]))
        called = whole_text(self._calls)
        thought = "".join(self._thoughts) or ("…" if self._filter.thinks else "")
        return ModelCompletion(
            called if called and "{" not in text else text, self.finish, usage, thought
        )


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
    return [_message(role, text) for role, text in call.question.told(call.able)]


def _message(role: MessageRole, text: str) -> ChatCompletionMessageParam:
    if role == "system":
        return {"role": "system", "content": text}
    if role == "assistant":
        return {"role": "assistant", "content": text}
    return {"role": "user", "content": text}


def _response_format(call: ModelCall) -> ResponseFormat | None:
    match call.able.form:
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
