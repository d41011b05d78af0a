"""The risk profile that words ask for."""

from __future__ import annotations

_WORDS = {
    **dict.fromkeys(("conservative", "safe", "cautious", "safer", "careful"), "conservative"),
    **dict.fromkeys(
        ("defensive", "passive", "boring", "safest", "gentle", "relaxed"), "conservative"
    ),
    **dict.fromkeys(("balanced", "moderate", "medium"), "balanced"),
    **dict.fromkeys(("aggressive", "degen", "yolo", "riskier", "spicy", "wild"), "aggressive"),
    "low-risk": "conservative",
    "medium-risk": "balanced",
    "high-risk": "aggressive",
}
_LEVELS: dict[tuple[str, ...], str] = {
    ("low", "risk"): "conservative",
    ("little", "risk"): "conservative",
    ("medium", "risk"): "balanced",
    ("middle", "of", "road"): "balanced",
    ("full", "send"): "aggressive",
    ("sleep", "well"): "conservative",
    ("no", "drama"): "conservative",
    ("no", "surprises"): "conservative",
    ("moderate", "risk"): "balanced",
    ("high", "risk"): "aggressive",
    ("minimal", "risk"): "conservative",
    ("no", "risk"): "conservative",
    ("without", "risk"): "conservative",
    ("without", "much", "risk"): "conservative",
    ("as", "safe", "as", "possible"): "conservative",
    ("play", "it", "safe"): "conservative",
    ("on", "safe", "side"): "conservative",
}
_MOST_WORDS = 4
_DENIED = frozenset(("nothing", "not", "no"))
_VERY = frozenset(("too", "very", "so", "that", "super", "overly"))
_DARING = frozenset(
    (
        *("crazy", "wild", "fancy", "risky", "aggressive", "degen", "insane", "extreme", "exotic"),
        *("spicy", "scary", "dangerous", "stupid", "hectic"),
    )
)


def risk_said(words: tuple[str, ...]) -> tuple[str, int] | None:
    """The profile that the first words name, and how many words name it."""
    for count in range(_MOST_WORDS, 1, -1):
        if (level := _LEVELS.get(words[:count])) is not None:
            return level, count
    word = words[0]
    if word in _DENIED:
        taken = 2 if words[1:2] and words[1] in _VERY else 1
        daring = len(words) > taken and words[taken] in _DARING
        return ("conservative", taken + 1) if daring else None
    named = _WORDS.get(word) or _WORDS.get(word.removesuffix("ly"))
    return None if named is None else (named, 1)
