"""Whether something typed in the open looks like a secret: it is then neither kept nor repeated."""

from __future__ import annotations

import re

NOT_KEPT = (
    "That looks like a key or a passphrase. It was not kept, but this line can be read over your "
    "shoulder: keys are only typed where zuno asks for them hidden (zuno wallet import)."
)

LIKE_A_KEY = re.compile(r"(?:0[xX])?[0-9a-fA-F]{60,}")
_LIKE_A_TOKEN = re.compile(r"\b(?:sk|pk|ghp|xox[abp])[-_][A-Za-z0-9_-]{16,}")
_NAMED_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase)|private[ _-]?key|secret|mnemonic|seed[ _-]?phrase)\b.*\s\S{6,}",
    re.IGNORECASE,
)
_URL_WITH_KEY = re.compile(r"https?://\S*[A-Za-z0-9_-]{20,}")
_SEED_WORDS = re.compile(r"\s*[a-z]{3,8}(?:\s+[a-z]{3,8}){11,23}\s*")
"""Twelve to twenty-four short plain words and nothing else: no phrase of zuno's looks like it."""


def looks_secret(text: str) -> bool:
    return any(
        pattern.search(text)
        for pattern in (LIKE_A_KEY, _LIKE_A_TOKEN, _NAMED_SECRET, _URL_WITH_KEY)
    ) or bool(_SEED_WORDS.fullmatch(text))
