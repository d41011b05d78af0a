"""One question on its way: what is sent, what comes back; waited for, learned from, all paid."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.model.abilities import (
    AbilityMemory,
    ReplyForm,
    ServerAbilities,
    first_guess,
    without_refused,
)
from agents.model.budget import DebateBudget, Reservation, estimated_tokens
from agents.model.connection import ModelConnections
from agents.model.faults import ModelFaults, RequestRefusedError, TryLaterError
from agents.model.incoming_reply import (
    Hearers,
    IncomingReply,
    ModelCompletion,
    read_delta,
    read_error,
    read_usage,
)
from agents.model.interface import ModelSettings, ModelUnavailable, Unavailability, Usage
from agents.model.tools import OfferedTool, ToolCall, ToolTurn
from chain.base.strict_json import canonical

if TYPE_CHECKING:
    from openai import AsyncStream
    from openai.types.chat import (
        ChatCompletion,
        ChatCompletionChunk,
        ChatCompletionMessageParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.chat.completion_create_params import ResponseFormat

MessageRole = Literal["system", "user", "assistant"]

_IMAGE_TOKENS = 3_000
"""More than a picture of ours takes."""


class ModelQuestion(Struct, frozen=True):
    messages: tuple[tuple[MessageRole, str], ...]
    schema_name: str
    schema: Mapping[str, object]
    tools: tuple[OfferedTool, ...] = ()
    turns: tuple[ToolTurn, ...] = ()
    """What was looked up already."""
    image: bytes = b""
    """A PNG, shown beside the first words of the person."""

    def again(self, reply: str, complaint: str) -> ModelQuestion:
        """The same question after a reply that could not be used."""
        order = (
            f"That reply cannot be used. {complaint} "
            "Reply again with one JSON object of the given schema and nothing else."
        )
        return replace(self, messages=(*self.messages, ("assistant", reply), ("user", order)))

    def offers_tools(self, able: ServerAbilities) -> bool:
        return bool(self.tools) and able.calls_tools

    def form(self, able: ServerAbilities) -> ReplyForm:
        """How the reply's form is asked for; where a server does not do both, tools come first and
        the form is asked for with the last question."""
        if self.offers_tools(able) and not able.form_beside_tools.asks_form:
            return ReplyForm.TEXT
        return able.form

    def is_held(self, able: ServerAbilities) -> bool:
        """Whether its reply is held to its form as well as the server can."""
        return self.form(able) is able.form

    def messages_for(self, able: ServerAbilities) -> list[dict[str, object]]:
        messages: list[dict[str, object]] = [
            {"role": role, "content": text} for role, text in self._messages_for(able)
        ]
        if self.image:
            first = next(message for message in messages if message["role"] == "user")
            first["content"] = [{"type": "text", "text": first["content"]}, _picture(self.image)]
        if self.offers_tools(able):
            for turn in self.turns:
                messages += _turn_messages(turn)
        return messages

    def estimated_tokens(self) -> int:
        texts = [text for _, text in self.messages]
        offered = [f"{tool.name} {tool.does} {_json(tool.schema)}" for tool in self.tools]
        looked_up = [turn.in_words() for turn in self.turns]
        seen = _IMAGE_TOKENS if self.image else 0
        return seen + estimated_tokens(*texts, *offered, *looked_up, _json(self.schema))

    def _messages_for(self, able: ServerAbilities) -> tuple[tuple[MessageRole, str], ...]:
        """The messages, with the schema in words where the server does not hold the model to it."""
        (_, system), (_, first), *rest = self.messages
        if self.form(able) is not ReplyForm.SCHEMA:
            system = (
                f"{system}\n\nReply with one JSON object of this JSON schema and nothing else, "
                f"no code fence around it:\n{_json(self.schema)}"
            )
        if not self.offers_tools(able):
            first = "\n\n".join((first, *(turn.in_words() for turn in self.turns)))
        if able.takes_system:
            return (("system", system), ("user", first), *rest)
        return (("user", f"{system}\n\n{first}"), *rest)


def _picture(png: bytes) -> dict[str, object]:
    url = f"data:image/png;base64,{b64encode(png).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _turn_messages(turn: ToolTurn) -> Iterator[dict[str, object]]:
    # A text that is empty, not missing: templates of local models put it beside others.
    calls = [_call_message(call) for call in turn.calls]
    yield {"role": "assistant", "content": "", "tool_calls": calls}
    for call, answer in zip(turn.calls, turn.answers, strict=True):
        yield {"role": "tool", "tool_call_id": call.call_id, "content": answer}


def _call_message(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    extra = {} if call.extra is None else {"extra_content": call.extra}
    return {"id": call.call_id, "type": "function", "function": function, **extra}


def _json(schema: Mapping[str, object]) -> str:
    return canonical(dict(schema)).decode()


_FIRST_PAUSE = 0.5
_MOST_REFUSALS = 12
"""More than there is to leave out."""
# Nothing was generated, so nothing is owed.
_FREE = frozenset((Unavailability.REJECTED, Unavailability.UNREACHABLE, Unavailability.OVERFLOWED))


class PendingQuestion:
    def __init__(
        self,
        role: Role,
        settings: ModelSettings,
        *,
        exchange: ModelExchange,
        budget: DebateBudget,
        memory: AbilityMemory,
        sleep: Callable[[float], Awaitable[None]],
        on_thinking: Callable[[], None],
    ) -> None:
        self._role = role
        self._settings = settings
        self._exchange = exchange
        self._budget = budget
        self._memory = memory
        self._sleep = sleep
        self._on_thinking = on_thinking
        self._recalled = memory.recall(settings)
        self._learned = self._recalled is None
        self._more_thinking = 0
        self.able = self._recalled or first_guess(settings)
        self.heard = False
        """Whether there was any sign of life."""
        self.held = True
        """Whether the last reply was held to its form as well as the server can."""

    @property
    def model(self) -> str:
        return self._settings.model

    async def complete(
        self, question: ModelQuestion, on_text: Callable[[str], None], deadline: asyncio.Timeout
    ) -> tuple[ModelCompletion, Usage]:
        """One usable call; a thinker that ran out of tokens before its answer gets more, once."""
        knew = self.able.thinks
        completion, usage = await self._called(question, on_text, deadline)
        if completion.finish != "length" or completion.raw.strip() or completion.calls:
            return completion, usage
        self._learn(replace(self.able, thinks=True))
        self._more_thinking = int(knew)
        longer, more = await self._called(question, on_text, deadline)
        if longer.finish == "length" and not longer.raw.strip():
            raise ModelUnavailable(
                Unavailability.INVALID,
                f"The model thought until its {self._tokens():,} tokens were used up. "
                "Give it more: [model] thinking_tokens",
            )
        return longer, usage.plus(more)

    def loosen(self) -> None:
        """The server did not hold the model to the schema: put it in the prompt from now on."""
        if self.able.form_tried and self.able.form is ReplyForm.SCHEMA:
            self._learn(replace(self.able, form=ReplyForm.JSON))

    def keep(self) -> None:
        """Remember what the server took; for a reply that could be used."""
        if self._learned:
            self._memory.remember(self._settings, self.able)
            self._learned = False

    async def _called(
        self, question: ModelQuestion, on_text: Callable[[str], None], deadline: asyncio.Timeout
    ) -> tuple[ModelCompletion, Usage]:
        refused = 0
        attempt = 0
        while True:
            reservation = self._reserve(question)
            # What is cancelled, stalls or breaks off has been generated: it stays counted in full.
            try:
                completion = await self._exchange.once(self._call(question), self._hearers(on_text))
            except RequestRefusedError as error:
                reservation.release()
                refused += 1
                self._learn_from(error, refused, question)
            except TryLaterError as error:
                reservation.release()
                attempt += not error.loading
                await self._pause(error, attempt, deadline)
            except ModelUnavailable as error:
                if error.reason in _FREE:
                    reservation.release()
                elif error.usage is not None:
                    reservation.settle(error.usage)
                elif error.written is not None:
                    written = estimated_tokens(error.written)
                    reservation.settle(Usage(question.estimated_tokens(), written, estimated=True))
                raise
            else:
                return completion, self._settle(reservation, question, completion)

    def _call(self, question: ModelQuestion) -> ModelCall:
        return ModelCall(self._settings, question, self.able, self._tokens())

    def _tokens(self) -> int:
        settings = self._settings
        rounds = (1 if self.able.thinks else 0) + self._more_thinking
        wanted = settings.max_tokens + rounds * settings.thinking_tokens
        most = self.able.most_tokens
        return wanted if most is None else min(wanted, most)

    def _reserve(self, question: ModelQuestion) -> Reservation:
        tokens_in = question.estimated_tokens()
        return self._budget.reserve(self._role, self._settings.model, tokens_in, self._tokens())

    def _hearers(self, on_text: Callable[[str], None]) -> Hearers:
        def text(piece: str) -> None:
            self.heard = self.heard or bool(piece)
            on_text(piece)

        def think() -> None:
            self.heard = True
            self._on_thinking()

        return Hearers(text, think)

    def _settle(
        self, reservation: Reservation, question: ModelQuestion, completion: ModelCompletion
    ) -> Usage:
        called = (call.name + call.arguments for call in completion.calls)
        written = estimated_tokens(completion.raw, completion.thought, *called)
        usage = completion.usage or Usage(question.estimated_tokens(), written, estimated=True)
        reservation.settle(usage)
        self.held = question.is_held(self.able)
        beside = self.able.form_beside_tools
        if question.offers_tools(self.able) and (completion.raw.strip() or completion.calls):
            beside = beside.after(called=bool(completion.calls))
        self._learn(
            replace(
                self.able,
                thinks=self.able.thinks or bool(completion.thought),
                streams=self.able.streams and completion.streamed,
                form_tried=self.able.form_tried or self.held,
                form_beside_tools=beside,
            )
        )
        return usage

    def _learn(self, able: ServerAbilities) -> None:
        self._learned = self._learned or able != self.able
        self.able = able

    def _learn_from(
        self, error: RequestRefusedError, refused: int, question: ModelQuestion
    ) -> None:
        if self._recalled is not None and self._recalled.form_tried:
            # What was remembered does not hold any more: find out everything anew.
            self._memory.forget(self._settings)
            self._recalled = None
            fresh = first_guess(self._settings)
            if self.able != fresh:
                self._learn(fresh)
                return
        settings = self._settings
        able = without_refused(
            self.able,
            error.refusal,
            has_temperature=settings.temperature is not None,
            asked_tokens=self._tokens(),
            has_tools=question.offers_tools(self.able),
        )
        if able is None or refused > _MOST_REFUSALS:
            raise error.unavailable
        self._learn(able)

    async def _pause(self, busy: TryLaterError, attempt: int, deadline: asyncio.Timeout) -> None:
        pause = _FIRST_PAUSE * 2 ** (attempt - 1) if busy.seconds is None else busy.seconds
        if attempt >= self._settings.limits.attempts or pause >= _remaining(deadline):
            raise busy.unavailable
        await self._sleep(pause)


def _remaining(deadline: asyncio.Timeout) -> float:
    when = deadline.when()
    return float("inf") if when is None else when - asyncio.get_running_loop().time()


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
            "function": {"name": tool.name, "description": tool.does, "parameters": tool.schema},
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
