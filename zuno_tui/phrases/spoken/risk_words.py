"""The risk profile that words ask for."""

from __future__ import annotations

_WORDS = {
    **dict.fromkeys(("conservative", "safe", "cautious", "safer", "careful"), "conservative"),
    **dict.fromkeys(("defensive", "passive"), "conservative"),
    **dict.fromkeys(("balanced", "moderate"), "balanced"),
    **dict.fromkeys(("aggressive", "degen", "yolo", "riskier", "spicy"), "aggressive"),
    "low-risk": "conservative",
    "medium-risk": "balanced",
    "high-risk": "aggressive",
}
_LEVELS: dict[tuple[str, ...], str] = {
    ("low", "risk"): "conservative",
    ("little", "risk"): "conservative",
    ("medium", "risk"): "balanced",
    ("moderate", "risk"): "balanced",
    ("high", "risk"): "aggressive",
}


def risk_said(words: tuple[str, ...]) -> tuple[str, int] | None:
    """The profile that the first words name, and how many words name it."""
    if (level := _LEVELS.get(words[:2])) is not None:
        return level, 2
    word = words[0]
    named = _WORDS.get(word) or _WORDS.get(word.removesuffix("ly"))
    return None if named is None else (named, 1)
