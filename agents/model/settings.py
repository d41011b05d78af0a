"""How to reach each role's model, who serves models by name, and how long to wait."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import field

from agents.bus.envelope import Role
from chain.base.redaction import SecretStruct

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
