"""What a failed call is said to be: a sentence of ours, with nothing that anybody else wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.model.interface import ModelUnavailable, Unavailability
from agents.model.refusal import read_refusal
from chain.base.http import seconds_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import openai

    from agents.model.refusal import RequestRefusal
    from agents.model.settings import ModelSettings

_TOO_MANY = 429
_FIRST_SERVER_ERROR = 500


class TryLaterError(Exception):
    """The endpoint is busy; `seconds` is what it asked us to wait, if it did."""

    def __init__(self, unavailable: ModelUnavailable, seconds: float | None) -> None:
        super().__init__(str(unavailable))
        self.unavailable = unavailable
        self.seconds = seconds


class RequestRefusedError(Exception):
    """The endpoint does not take the request as it is, and another might do."""

    def __init__(self, refusal: RequestRefusal, unavailable: ModelUnavailable) -> None:
        super().__init__(str(unavailable))
        self.refusal = refusal
        self.unavailable = unavailable


class ModelFaults:
    """What the faults of one call are called."""

    def __init__(
        self,
        settings: ModelSettings,
        asked_tokens: int,
        clock: Callable[[], float],
        *,
        has_tools: bool = False,
    ) -> None:
        self._settings = settings
        self._asked_tokens = asked_tokens
        self._clock = clock
        self._has_tools = has_tools
        self.streaming = False

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
                    f"The model's endpoint at {self._settings.host} cannot be reached. "
                    "What is set: zuno model",
                )
            case openai.APIError():
                reason, sentence = (
                    Unavailability.SERVER_ERROR,
                    "The model's endpoint failed in the middle of its answer.",
                )
            case ReplyTooLargeError():
                return self.too_large(self._settings.limits.wire_bytes)
            case CompressedReplyError():
                reason, sentence = Unavailability.MALFORMED, "The model's answer came compressed."
            case _:
                reason, sentence = (
                    Unavailability.MALFORMED,
                    f"The model's answer cannot be read ({type(error).__name__}).",
                )
        return ModelUnavailable(reason, sentence)

    def of_words(self, status: int, words: str) -> RequestRefusedError | None:
        """A refusal that can be learned from, by what the endpoint wrote."""
        refusal = read_refusal(
            status, words, asked_tokens=self._asked_tokens, has_tools=self._has_tools
        )
        if refusal is None:
            return None
        return RequestRefusedError(refusal, self.refused(status, overflow=refusal.overflow))

    def _of_status(self, error: openai.APIStatusError) -> Exception:
        status = error.status_code
        if (learnable := self.of_words(status, _body(error))) is not None:
            return learnable
        if status == _TOO_MANY:
            reason, sentence = Unavailability.RATE_LIMITED, "The model's endpoint asks us to wait."
        elif status >= _FIRST_SERVER_ERROR:
            reason = Unavailability.SERVER_ERROR
            sentence = f"The model's endpoint failed (HTTP {status})."
        else:
            return self.refused(status)
        return TryLaterError(
            ModelUnavailable(reason, sentence), _wait(error.response.headers, self._clock())
        )

    @staticmethod
    def refused(status: int, *, overflow: bool = False) -> ModelUnavailable:
        if overflow:
            return ModelUnavailable(
                Unavailability.OVERFLOWED,
                "The question does not fit into the model's context. Give it a larger one, "
                "or name another model: zuno model",
            )
        hint = {401: "the key", 402: "the account", 403: "the key", 404: "the model's name"}.get(
            status, "the request"
        )
        return ModelUnavailable(
            Unavailability.REJECTED,
            f"The model's endpoint does not accept {hint} (HTTP {status}).",
        )

    @staticmethod
    def too_large(most: int) -> ModelUnavailable:
        return ModelUnavailable(
            Unavailability.TOO_LARGE, f"The model wrote more than {most:,} bytes."
        )


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
