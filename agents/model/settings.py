"""How to reach the model and how long to wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from chain.base.secret_struct import SecretStruct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.bus.envelope import Role

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-4o-mini"


class ModelLimits(Struct, frozen=True):
    total_seconds: float = 45.0
    """For one question with its retries and its repair."""
    debate_seconds: float = 75.0
    """For all questions of a debate: under its deadline, so that the rules can still end it."""
    first_seconds: float = 30.0
    """Until the first word: a reasoning model thinks before it speaks."""
    stall_seconds: float = 10.0
    """Between two words."""
    connect_seconds: float = 5.0
    attempts: int = 3
    """Calls made for one question while the endpoint says 429 or 5xx."""
    reply_bytes: int = 64 << 10
    wire_bytes: int = 8 << 20
    """Every word comes wrapped in a few hundred bytes of JSON."""


class ModelSettings(SecretStruct, frozen=True):
    # The URL may hold a key too: neither is ever part of a repr, and so of no log or traceback.
    api_key: str
    base_url: str = OPENAI_URL
    default_model: str = DEFAULT_MODEL
    models: Mapping[Role, str] = field(default_factory=dict)
    most_tokens: int = 4_000
    """What one reply may take, thinking included."""
    temperature: float | None = None
    """Left out unless chosen: reasoning models refuse any."""
    limits: ModelLimits = field(default_factory=ModelLimits)

    def model_for(self, role: Role) -> str:
        return self.models.get(role, self.default_model)
