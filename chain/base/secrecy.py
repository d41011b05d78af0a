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

_BETWEEN_URLS = re.compile(r"(\s+|,(?=\s*(?:http|ws)s?://))")
_URL = re.compile(r"((?:http|ws)s?://)([^/?#]*@)?([^/?#]*)([^?#]*)(.*)", re.IGNORECASE)
_PLAIN_PART = re.compile(r"v?[0-9]{1,6}|[a-z]{1,12}(?:[-_.][a-z]{1,12}){0,2}|")
"""A part of a path that is a word, a version or a chain's number; a key looks otherwise."""
_LONG_PART = re.compile(r"[A-Za-z0-9_-]{20,}")
_MARK = "•"


def looks_secret(text: str) -> bool:
    return any(
        pattern.search(text)
        for pattern in (LIKE_A_KEY, _LIKE_A_TOKEN, _NAMED_SECRET, _URL_WITH_KEY)
    ) or bool(_SEED_WORDS.fullmatch(text))


def masked_urls(text: str) -> str:
    """URLs letter for letter, with a mark for each that may belong to a key."""
    return "".join(map(_masked, _BETWEEN_URLS.split(text)))


def shortened_urls(text: str) -> str:
    """The same for reading: what is hidden is one ellipsis."""
    return re.sub(f"{_MARK}+", "…", masked_urls(text))


def _masked(word: str) -> str:
    found = _URL.fullmatch(word)
    if found is None:
        return _LONG_PART.sub(_marks, word)
    scheme, user, host, path, rest = found.groups("")
    parts = [part if _PLAIN_PART.fullmatch(part) else _MARK * len(part) for part in path.split("/")]
    return "".join(
        (
            scheme,
            _MARK * (len(user) - 1) + user[-1:],
            _LONG_PART.sub(_marks, host),
            "/".join(parts),
            rest[:1] + _MARK * (len(rest) - 1),
        )
    )


def _marks(found: re.Match[str]) -> str:
    return _MARK * len(found[0])
