"""What agents see of a language model, an answer or a reason for none, and how each is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field
from pydantic import BaseModel

from agents.bus.envelope import Role
from chain.base.clean_text import SecretStruct
from chain.base.strict_json import canonical, digest

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-4o-mini"
QUESTION_SECONDS = 90.0
DEBATE_SECONDS = 240.0
"""For all that models say in one debate, once the chain was read."""
ANSWER_TOKENS = 4_000
THINKING_TOKENS = 8_000


class ModelLimits(SecretStruct, frozen=True):
    total_seconds: float = QUESTION_SECONDS
    """For one question with its retries and its repair."""
    first_seconds: float = QUESTION_SECONDS
    """Until the first word or the first sign of thought: a local model reads its prompt slowly."""
    stall_seconds: float = 30.0
    """Between two words, thoughts included."""
    connect_seconds: float = 5.0
    attempts: int = 3
    """Calls made for one question while the endpoint says 429 or 5xx."""
    reply_bytes: int = 64 << 10
    wire_bytes: int = 8 << 20
    """Every word comes wrapped in a few hundred bytes of JSON."""


class ModelSettings(SecretStruct, frozen=True):
    """One role's model."""

    # The URL may hold a key too: neither is ever part of a repr, and so of no log or traceback.
    api_key: str
    """Empty where none was found."""
    base_url: str = OPENAI_URL
    model: str = DEFAULT_MODEL
    max_tokens: int = ANSWER_TOKENS
    """What one answer may take."""
    thinking_tokens: int = THINKING_TOKENS
    """What a model that thinks may take for that, besides."""
    temperature: float | None = None
    """Left out unless chosen: reasoning models refuse any."""
    limits: ModelLimits = ModelLimits()
    keyring_name: str = ""
    """Under what the system's keyring keeps the key, where it is to be read from there."""

    @property
    def host(self) -> str:
        """Whom the URL names; the rest of it may be a key."""
        return urlsplit(self.base_url).hostname or "the endpoint"


class RoleModels(SecretStruct, frozen=True):
    """Who is asked for each role."""

    default: ModelSettings
    roles: Mapping[Role, ModelSettings] = field(default_factory=dict)

    def of(self, role: Role) -> ModelSettings:
        return self.roles.get(role, self.default)

    def each(self) -> Iterator[ModelSettings]:
        yield self.default
        yield from self.roles.values()


class ModelProvider(NamedTuple):
    title: str
    base_url: str
    key_variable: str = ""
    """The environment's name of its key; empty for a server of one's own that needs none."""
    model: str | None = None
    """What is asked where no model is named."""


PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider("OpenAI", OPENAI_URL, "OPENAI_API_KEY", DEFAULT_MODEL),
    "anthropic": ModelProvider("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": ModelProvider(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    "openrouter": ModelProvider("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "deepseek": ModelProvider("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "groq": ModelProvider("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "ollama": ModelProvider("Ollama", "http://127.0.0.1:11434/v1"),
    "lmstudio": ModelProvider("LM Studio", "http://127.0.0.1:1234/v1"),
    "vllm": ModelProvider("vLLM", "http://127.0.0.1:8000/v1"),
    "llama.cpp": ModelProvider("llama.cpp", "http://127.0.0.1:8080/v1"),
}


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
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        """An answer of this schema, or ModelUnavailable.

        The schema's first field is prose; `on_prose` is given its words as they are written.
        """
        ...
