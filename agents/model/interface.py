"""What agents see of a language model: a question, a schema, an answer or a reason for none."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from agents.bus.envelope import Role
from chain.base.strict_json import canonical, digest

Reply = TypeVar("Reply", bound=BaseModel)


class PromptImage(Struct, frozen=True):
    """A picture for a model that sees; a record knows it by its hash."""

    sha256: str
    png: bytes = b""
    """Empty where a record is run again."""


class ModelPrompt(Struct, frozen=True):
    system: str
    user: str
    image: PromptImage | None = None

    @property
    def digest(self) -> str:
        seen = {} if self.image is None else {"image": self.image.sha256}
        return digest(canonical({"system": self.system, "user": self.user, **seen}))


class Usage(Struct, frozen=True):
    tokens_in: int
    tokens_out: int
    estimated: bool
    """True where the endpoint did not say, and our own cautious count stands in."""

    def plus(self, other: Usage) -> Usage:
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.estimated or other.estimated,
        )


class Answer(Struct, Generic[Reply], frozen=True):
    value: Reply
    usage: Usage
    raw: str
    """The JSON it was read from, cleaned, for the record: reading it again gives the value."""
    model: str


class Unavailability(StrEnum):
    OVER_BUDGET = "over_budget"
    NOT_SET = "not_set"
    REJECTED = "rejected"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    UNREACHABLE = "unreachable"
    DISCONNECTED = "disconnected"
    TIMED_OUT = "timed_out"
    STALLED = "stalled"
    REFUSED = "refused"
    TOO_LARGE = "too_large"
    OVERFLOWED = "overflowed"
    MALFORMED = "malformed"
    INVALID = "invalid"


class ModelUnavailable(Exception):  # noqa: N818 - a state of the world that steps plan for
    """No usable answer: the step takes its deterministic path and says so."""

    def __init__(
        self,
        reason: Unavailability,
        sentence: str,
        *,
        written: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.written = written
        """What was generated before it ended, where that is known: no more is paid for."""
        self.usage = usage
        """What it took, where the endpoint said so."""


class Model(Protocol):
    """One request's way to ask; made anew for each request."""

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        """An answer of this schema, or ModelUnavailable.

        The schema's first field is prose; `on_prose` is given its words as they are written.
        """
        ...
