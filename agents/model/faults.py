"""Why a call failed or was refused: a sentence of ours, with nothing that anybody else wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.model.interface import ModelSettings, ModelUnavailable, Unavailability, Usage
from chain.base.errors import error_kind
from chain.base.http import seconds_asked

if TYPE_CHECKING:
    import openai


_MOST_TEXT = 20_000
_NAMES: Mapping[str, re.Pattern[str]] = {
    "tools": re.compile(r"\btools?\b|tool.?(choice|call|use)|function.?call|reasoning_content"),
    "response_format": re.compile(
        r"response.?format|json.?schema|json_object|json mode|structured output"
        r"|json_validate_failed|failed_generation|\bgrammar\b"
    ),
    "stream_options": re.compile(r"stream_options|include_usage"),
    "temperature": re.compile(r"\btemperature\b"),
    "max_completion_tokens": re.compile(r"max_completion_tokens"),
    "max_tokens": re.compile(r"max_tokens|max_output_tokens|max tokens"),
    "system": re.compile(
        r"system (role|prompt|message|instruction)|developer instruction|role.{0,40}system"
        r"|only user and assistant roles|roles must alternate"
    ),
    "stream": re.compile(r"\bstream(ing)?\b(?!_options)"),
}
_OVERFLOW = re.compile(
    r"context.?(length|size|window)|exceed_context_size|maximum context|prompt is too long"
    r"|input token count|input is too long|reduce the length|reduce your prompt"
    r"|request too large"
)
_OVER_A_LIMIT = re.compile(r"too (large|high|big|many)|at most|maximum|less than or equal|exceed")
_KEY = re.compile(r"api.?key|unauthori[sz]ed|credit balance|billing|quota")
_UNKNOWN_MODEL = re.compile(
    r"model.{0,80}(not (found|exist)|does not exist|unknown|is not a valid)|model_not_found"
    r"|invalid model"
)
_NUMBER = re.compile(r"(?<![\w.])\d{3,7}(?![\w.])")
_NO_HANDLER = re.compile(r"no endpoints? found that (can handle|support)")
"""OpenRouter's way to say that none of its providers takes all of the request, HTTP 404."""
# These alone speak of the request without naming a part of it.
_VAGUE = frozenset((400, 415, 422))
_SPEAKING = _VAGUE | {404, 405, 413, 500, 501}


class RequestRefusal(Struct, frozen=True):
    named: frozenset[str]
    """Parameters the server's words speak of."""
    overflow: bool = False
    """Whether question and answer do not fit into the model's context."""
    most_tokens: int | None = None
    """The largest limit of a reply that it says it takes."""
    vague: bool = False
    """Whether it may be about another part of the request."""


def read_refusal(
    status: int, body: str, *, asked_tokens: int, has_tools: bool = False
) -> RequestRefusal | None:
    """What can be learned of a refusal; None where it is about something else."""
    words = body[:_MOST_TEXT].lower()
    if status not in _SPEAKING or _KEY.search(words) or _UNKNOWN_MODEL.search(words):
        return None
    named = frozenset(name for name, pattern in _NAMES.items() if pattern.search(words))
    if not has_tools:
        named -= {"tools"}
    about_limit = named & {"max_tokens", "max_completion_tokens"}
    if _OVERFLOW.search(words) and not (about_limit and "must be less" in words):
        return RequestRefusal(frozenset(), overflow=True)
    most = _most_tokens(words, asked_tokens) if about_limit else None
    vague = status in _VAGUE or _NO_HANDLER.search(words) is not None
    return RequestRefusal(named, most_tokens=most, vague=vague) if named or vague else None


def says_unknown_model(words: str) -> bool:
    return bool(_UNKNOWN_MODEL.search(words))


def _most_tokens(words: str, asked: int) -> int | None:
    if not _OVER_A_LIMIT.search(words):
        return None
    numbers = [int(found) for found in _NUMBER.findall(words.replace(",", ""))]
    return max((number for number in numbers if number < asked), default=None)


_TOO_MANY_REQUESTS = 429
_NOT_FOUND = 404
_NOT_READY = 503
_LOADING_SECONDS = 5.0
# Waiting does not fill an empty account.
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|exceeded your current quota")
_RETRY_IN = re.compile(r"retry in (\d+(?:\.\d+)?) ?s|retrydelay\W{1,5}(\d+(?:\.\d+)?)s")
"""Gemini calls its limit a minute a quota, too, and says when it is free again."""
_NO_CHAT = re.compile(r"v1/responses|responses api|not a chat model")
_BAD_KEY = re.compile(r"api.?key.{0,20}(not valid|invalid|expired)|invalid.{0,12}api.?key")
_LOADING = re.compile(r"loading|starting up|warming up")
_FIRST_SERVER_ERROR = 500
_MOST_WORDS = 20_000
_HINTS = {
    **dict.fromkeys((301, 302, 303, 307, 308), "the URL"),
    401: "the key",
    402: "the account",
    403: "the key",
    404: "the model's name",
}


class TryLaterError(Exception):
    """The endpoint is busy; `seconds` is what it asked us to wait, if it did."""

    def __init__(
        self, unavailable: ModelUnavailable, seconds: float | None, *, loading: bool = False
    ) -> None:
        super().__init__(str(unavailable))
        self.unavailable = unavailable
        self.seconds = seconds
        self.loading = loading
        """Whether it will answer once its model is in memory: worth all the time there is."""


class RequestRefusedError(Exception):
    """The endpoint does not take the request as it is, and another might do."""

    def __init__(self, refusal: RequestRefusal, unavailable: ModelUnavailable) -> None:
        super().__init__(str(unavailable))
        self.refusal = refusal
        self.unavailable = unavailable


class ModelFaults(Struct, eq=False):
    """What the faults of one call are called."""

    settings: ModelSettings
    asked_tokens: int
    clock: Callable[[], float]
    has_tools: bool = False
    streaming: bool = False

    def of(self, error: Exception) -> Exception:
        import openai

        from agents.model.capped_transport import CompressedReplyError, ReplyTooLargeError

        match error:
            case openai.APIStatusError():
                return self._of_status(error)
            case openai.APITimeoutError():
                reason, sentence = Unavailability.TIMED_OUT, "The model's endpoint took too long."
            case openai.APIConnectionError() if self.streaming:
                reason, sentence = Unavailability.DISCONNECTED, "The model broke off in the middle."
            case openai.APIConnectionError():
                reason, sentence = (
                    Unavailability.UNREACHABLE,
                    f"The model's endpoint at {self.settings.host} cannot be reached. "
                    "What is set: zuno model",
                )
            case openai.APIError():
                # Of an error in the stream only what names a part of the request can be learned.
                if (learnable := self.of_words(_FIRST_SERVER_ERROR, str(error.body))) is not None:
                    return learnable
                reason, sentence = (
                    Unavailability.SERVER_ERROR,
                    "The model's endpoint failed in the middle of its answer.",
                )
            case ReplyTooLargeError():
                return self.too_large(self.settings.limits.wire_bytes)
            case CompressedReplyError():
                reason, sentence = Unavailability.MALFORMED, "The model's answer came compressed."
            case _:
                reason, sentence = (
                    Unavailability.MALFORMED,
                    f"The model's answer cannot be read ({error_kind(error)}).",
                )
        return ModelUnavailable(reason, sentence)

    def of_words(self, status: int, words: str) -> RequestRefusedError | None:
        """A refusal that can be learned from, by what the endpoint wrote."""
        refusal = read_refusal(
            status, words, asked_tokens=self.asked_tokens, has_tools=self.has_tools
        )
        if refusal is None:
            return None
        return RequestRefusedError(refusal, self.refusal_error(status, overflow=refusal.overflow))

    def _of_status(self, error: openai.APIStatusError) -> Exception:
        status, body = error.status_code, _body(error)
        if (learnable := self.of_words(status, body)) is not None:
            return learnable
        words = body[:_MOST_WORDS].lower()
        loading = status == _NOT_READY and bool(_LOADING.search(words))
        told = _RETRY_IN.search(words)
        busy = status == _TOO_MANY_REQUESTS and told is not None
        hint = "" if busy else _blamed(status, words)
        if hint:
            return self.refusal_error(status, hint=hint)
        if status == _TOO_MANY_REQUESTS:
            reason, sentence = Unavailability.RATE_LIMITED, "The model's endpoint asks us to wait."
        elif loading:
            reason, sentence = Unavailability.SERVER_ERROR, "The model is still being loaded."
        elif status >= _FIRST_SERVER_ERROR:
            reason = Unavailability.SERVER_ERROR
            sentence = f"The model's endpoint failed (HTTP {status})."
        else:
            return self.refusal_error(status)
        asked = _wait(error.response.headers, self.clock())
        if asked is None and told is not None:
            asked = float(told[1] or told[2])
        wait = _LOADING_SECONDS if loading and asked is None else asked
        return TryLaterError(ModelUnavailable(reason, sentence), wait, loading=loading)

    def no_model_speaks(self) -> ModelUnavailable:
        """A web page came where a model's server would have answered."""
        return ModelUnavailable(
            Unavailability.MALFORMED,
            f"{self.settings.host} answered with a web page. Is its URL right? See: zuno model",
            usage=Usage(0, 0, estimated=False),
        )

    @staticmethod
    def refusal_error(status: int, *, overflow: bool = False, hint: str = "") -> ModelUnavailable:
        if overflow:
            return ModelUnavailable(
                Unavailability.OVERFLOWED,
                "The question does not fit into the model's context. Give it a larger one, "
                "or name another model: zuno model",
            )
        named = hint or _HINTS.get(status, "the request")
        return ModelUnavailable(
            Unavailability.REJECTED,
            f"The model's endpoint does not accept {named} (HTTP {status}). See: zuno model",
        )

    @staticmethod
    def too_large(most: int) -> ModelUnavailable:
        return ModelUnavailable(
            Unavailability.TOO_LARGE, f"The model wrote more than {most:,} bytes."
        )


def _blamed(status: int, words: str) -> str:
    """What the endpoint does not accept, where its words say so; nothing where they do not."""
    if status == _TOO_MANY_REQUESTS and _NO_CREDIT.search(words):
        return "the account"
    if _BAD_KEY.search(words):
        return "the key"
    if _NO_CHAT.search(words):
        return "chats with this model: name another"
    if status == _NOT_FOUND and not says_unknown_model(words):
        return "the URL, which often ends in /v1, or the model's name"
    return ""


def _body(error: openai.APIStatusError) -> str:
    try:
        return error.response.text
    except Exception:  # read anew it may be cut off, compressed or of no known encoding
        return str(error.body)


def _wait(headers: Mapping[str, str], now: float) -> float | None:
    """How long a busy endpoint asks us to stay away: milliseconds, seconds or a date."""
    milliseconds = seconds_asked(headers.get("retry-after-ms"), now)
    if milliseconds is not None:
        return milliseconds / 1000
    return seconds_asked(headers.get("retry-after"), now)
