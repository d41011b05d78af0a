"""Which model each part of the desk asks where nobody chose, and how much it is told."""

from enum import StrEnum
from typing import NamedTuple

from agents.bus.envelope import Role
from agents.trade.payloads import (
    GEOMETRY,
    JUDGE,
    LIQUIDITY,
    MACRO,
    META,
    MICROSTRUCTURE,
    RISK_MANAGER,
    SYNTHESIS,
)

SONNET = "claude-sonnet-4-6"
FLASH = "gemini-3-flash-preview"
VISION = "gemini-3.1-pro-preview"
FALLBACK_MODEL = FLASH
"""Who is asked when the API of a Claude or a GPT fails."""


class RouteName(StrEnum):
    JUDGE = "judge"
    LIQUIDITY = "liquidity"
    MICROSTRUCTURE = "microstructure"
    MACRO = "macro"
    GEOMETRY = "vlm_geometric"
    FEEDBACK = "self_correction"
    POST_MORTEM = "post_mortem"
    EXTRACTION = "rag_extraction"
    CHAT = "chat"


class ModelRoute(NamedTuple):
    model: str
    most_characters: int
    """Of what it is told, besides its office."""


ROUTES: dict[RouteName, ModelRoute] = {
    RouteName.JUDGE: ModelRoute(SONNET, 25_000),
    RouteName.LIQUIDITY: ModelRoute(FLASH, 15_000),
    RouteName.MICROSTRUCTURE: ModelRoute(FLASH, 15_000),
    RouteName.MACRO: ModelRoute(FLASH, 15_000),
    RouteName.GEOMETRY: ModelRoute(VISION, 15_000),
    RouteName.FEEDBACK: ModelRoute(SONNET, 10_000),
    RouteName.POST_MORTEM: ModelRoute(FLASH, 10_000),
    RouteName.EXTRACTION: ModelRoute(FLASH, 5_000),
    RouteName.CHAT: ModelRoute(FLASH, 10_000),
}
ROLE_ROUTES: dict[Role, RouteName] = {
    META: RouteName.MACRO,
    LIQUIDITY: RouteName.LIQUIDITY,
    MICROSTRUCTURE: RouteName.MICROSTRUCTURE,
    MACRO: RouteName.MACRO,
    GEOMETRY: RouteName.GEOMETRY,
    SYNTHESIS: RouteName.LIQUIDITY,
    JUDGE: RouteName.JUDGE,
    RISK_MANAGER: RouteName.MACRO,
}
"""Which of them each role of the flow asks; triage, chart and guard ask none."""
_PREFIXES = {
    "claude": "anthropic",
    "gemini": "gemini",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "chatgpt": "openai",
    "deepseek": "deepseek",
}
_FALLING_BACK = frozenset(("anthropic", "openai"))


def provider_of(model: str) -> str | None:
    """Who serves a model of this name; None where its name does not tell."""
    start = model.strip().lower().partition("-")[0]
    return _PREFIXES.get(start)


def falls_back(model: str) -> bool:
    """Whether another is asked when its API fails."""
    return provider_of(model) in _FALLING_BACK


def most_characters(role: Role) -> int:
    return ROUTES[ROLE_ROUTES[role]].most_characters
