"""One call to the endpoint: what is sent, what comes back while it streams, what can go wrong."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agents.model.budget import estimated_tokens
from agents.model.interface import ModelUnavailable, Unavailability, Usage
from agents.model.reply_text import whole_text
from chain.base.canonical import canonical
from chain.base.http import seconds_asked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    import openai
    from openai import AsyncStream
    from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

    from agents.model.connection import Connection
    from agents.model.settings import ModelSettings

_TOO_MANY = 429
_FIRST_SERVER_ERROR = 500
_MOST_TOKENS = 100_000_000  # what an endpoint may claim before we stop believing it


class Question(Struct, frozen=True):
    model: str
    messages: tuple[tuple[Literal["system", "user", "assistant"], str], ...]
    schema_name: str
    schema: Mapping[str, object]

    def again(self, reply: str, complaint: str) -> Question:
        """The same question after a reply that could not be used."""
        order = (
            f"That reply cannot be used. {complaint} "
            "Reply again with one JSON object of the given schema and nothing else."
        )
        return replace(self, messages=(*self.messages, ("assistant", reply), ("user", order)))

    def estimated_tokens(self) -> int:
        texts = [text for _, text in self.messages]
        return estimated_tokens(*texts, canonical(dict(self.schema)).decode())


class ModelCompletion(Struct, frozen=True):
    raw: str
    finish: str | None
    """`stop` or `length`; None when the stream just ended."""
    usage: Usage | None


class TryLaterError(Exception):
    """The endpoint is busy; `seconds` is what it asked us to wait, if it did."""

    def __init__(self, unavailable: ModelUnavailable, seconds: float | None) -> None:
        super().__init__(str(unavailable))
        self.unavailable = unavailable
        self.seconds = seconds


class ModelExchange:
    def __init__(
        self, settings: ModelSettings, connection: Connection, *, clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._connection = connection
        self._clock = clock

    async def once(self, question: Question, on_text: Callable[[str], None]) -> ModelCompletion:
        """One call. Raises ModelUnavailable or TryLaterError, and nothing of the library's."""
        streaming = False
        try:
            stream = await self._open(question)
            streaming = True
            try:
                return await self._read(stream, on_text)
            finally:
                await stream.close()
        except ModelUnavailable as error:
            fault: Exception = error
        except Exception as error:  # the library's errors hold the key: none may pass
            fault = self._fault(error, streaming=streaming)
        # Raised out here so that the library's exception does not travel along as context.
        raise fault

    async def _open(self, question: Question) -> AsyncStream[ChatCompletionChunk]:
        client = await self._connection.client()
        from openai import omit

        settings = self._settings
        # OpenAI refuses the old name of this limit for its newer models; most other servers
        # do not know the new one.
        ours = urlsplit(settings.base_url).hostname == "api.openai.com"
        most = settings.most_tokens
        messages: list[ChatCompletionMessageParam] = [
            _message(role, text) for role, text in question.messages
        ]
        async with self._patience(self._limits.first_seconds, "did not begin to answer"):
            return await client.chat.completions.create(
                model=question.model,
                messages=messages,
                response_format={
                    "type": "json_schema",
                    "json_schema": {
                        "name": question.schema_name,
                        "schema": dict(question.schema),
                        "strict": True,
                    },
                },
                stream=True,
                stream_options={"include_usage": True},
                max_completion_tokens=most if ours else omit,
                max_tokens=omit if ours else most,
                temperature=omit if settings.temperature is None else settings.temperature,
            )

    async def _read(
        self, stream: AsyncStream[ChatCompletionChunk], on_text: Callable[[str], None]
    ) -> ModelCompletion:
        pieces: list[str] = []
        size = 0
        finish: str | None = None
        usage: Usage | None = None
        seconds = self._limits.first_seconds
        while True:
            try:
                chunk = await self._next(stream, seconds)
            except Exception:
                # After the last word only the bill is missing: what fails there spoils nothing.
                if finish is None:
                    raise
                break
            if chunk is None:
                break
            seconds = self._limits.stall_seconds
            usage = _usage(chunk) or usage
            said = _said(chunk)
            finish = said.finish or finish
            if said.refused or finish == "content_filter":
                raise ModelUnavailable(Unavailability.REFUSED, "The model declined to answer.")
            size += len(said.text.encode("utf-8", "surrogatepass"))
            if size > self._limits.reply_bytes:
                raise self._too_large(self._limits.reply_bytes)
            pieces.append(said.text)
            on_text(said.text)
        return ModelCompletion(whole_text(pieces), finish, usage)

    async def _next(
        self, stream: AsyncStream[ChatCompletionChunk], seconds: float
    ) -> ChatCompletionChunk | None:
        async with self._patience(seconds, "fell silent"):
            return await anext(stream, None)

    @asynccontextmanager
    async def _patience(self, seconds: float, failing: str) -> AsyncGenerator[None, None]:
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

    def _fault(self, error: Exception, *, streaming: bool) -> Exception:
        """What to say instead: a sentence of ours, with nothing the endpoint or library wrote."""
        import openai

        from agents.model.capped_transport import CompressedReplyError, ReplyTooLargeError

        match error:
            case openai.APIStatusError():
                return self._status_fault(error)
            case openai.APITimeoutError():
                reason, sentence = Unavailability.TIMED_OUT, "The model's endpoint took too long."
            case openai.APIConnectionError() if streaming:
                reason, sentence = Unavailability.DISCONNECTED, "The model broke off in the middle."
            case openai.APIConnectionError():
                reason, sentence = (
                    Unavailability.UNREACHABLE,
                    "The model's endpoint cannot be reached. Check OPENAI_BASE_URL.",
                )
            case openai.APIError():
                reason, sentence = (
                    Unavailability.SERVER_ERROR,
                    "The model's endpoint failed in the middle of its answer.",
                )
            case ReplyTooLargeError():
                return self._too_large(self._limits.wire_bytes)
            case CompressedReplyError():
                reason, sentence = Unavailability.MALFORMED, "The model's answer came compressed."
            case _:
                reason, sentence = (
                    Unavailability.MALFORMED,
                    f"The model's answer cannot be read ({type(error).__name__}).",
                )
        return ModelUnavailable(reason, sentence)

    def _status_fault(self, error: openai.APIStatusError) -> Exception:
        status = error.status_code
        if status == _TOO_MANY:
            reason, sentence = Unavailability.RATE_LIMITED, "The model's endpoint asks us to wait."
        elif status >= _FIRST_SERVER_ERROR:
            reason = Unavailability.SERVER_ERROR
            sentence = f"The model's endpoint failed (HTTP {status})."
        else:
            hint = {401: "the key", 403: "the key", 404: "the model's name"}.get(
                status, "the request"
            )
            return ModelUnavailable(
                Unavailability.REJECTED,
                f"The model's endpoint does not accept {hint} (HTTP {status}).",
            )
        return TryLaterError(
            ModelUnavailable(reason, sentence), _wait(error.response.headers, self._clock())
        )

    @staticmethod
    def _too_large(most: int) -> ModelUnavailable:
        return ModelUnavailable(
            Unavailability.TOO_LARGE, f"The model wrote more than {most:,} bytes."
        )


class _Said(Struct, frozen=True):
    text: str
    finish: str | None
    refused: bool


def _said(chunk: object) -> _Said:
    # The library builds chunks without checking them: any field may be anything.
    choices = getattr(chunk, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = getattr(choice, "delta", None)
    text = getattr(delta, "content", None)
    finish = getattr(choice, "finish_reason", None)
    return _Said(
        text=text if isinstance(text, str) else "",
        finish=finish if isinstance(finish, str) else None,
        refused=bool(getattr(delta, "refusal", None)),
    )


def _usage(chunk: object) -> Usage | None:
    usage = getattr(chunk, "usage", None)
    tokens_in = _count(getattr(usage, "prompt_tokens", None))
    tokens_out = _count(getattr(usage, "completion_tokens", None))
    if tokens_in is None or tokens_out is None:
        return None
    return Usage(tokens_in, tokens_out, estimated=False)


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _wait(headers: Mapping[str, str], now: float) -> float | None:
    """How long a busy endpoint asks us to stay away: milliseconds, seconds or a date."""
    milliseconds = seconds_asked(headers.get("retry-after-ms"), now)
    if milliseconds is not None:
        return milliseconds / 1000
    return seconds_asked(headers.get("retry-after"), now)


def _message(role: str, text: str) -> ChatCompletionMessageParam:
    if role == "system":
        return {"role": "system", "content": text}
    if role == "assistant":
        return {"role": "assistant", "content": text}
    return {"role": "user", "content": text}
