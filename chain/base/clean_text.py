"""Text made safe to show: no control bytes, no invisible tricks, and no secret of anybody's."""

import base64
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

from msgspec import Struct

from chain.base.strict_json import canonical

MESSAGE_LIMIT = 200
SYMBOL_LIMIT = 24
QUOTE_LIMIT = 60
"""How much of somebody else's words a sentence of ours repeats."""

DROP: dict[int, None] = dict.fromkeys(
    (
        *range(0x20),
        *range(0x7F, 0xA0),
        0x00AD,
        0x061C,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2065),
        *range(0x2066, 0x206A),
        0xFEFF,
        *range(0xE0000, 0xE0080),
    )
)
"""For `str.translate`: what can steer a terminal, reverse a line or hide between letters."""

OWN_MARKS: dict[int, None] = dict.fromkeys(
    (
        *map(ord, '$!·•‣›‹»«“”„‟"`'),
        *range(0x2190, 0x2200),
        *range(0x2300, 0x2400),
        *range(0x2500, 0x27C0),
        *range(0x2900, 0x2980),
        *range(0x2B00, 0x2C00),
        *range(0x1F000, 0x1FB00),
    )
)
"""For `str.translate`: the arrows, ticks, boxes, prompts and quotes that only zuno may draw."""

# Letters, marks and symbols by category, yet drawn as nothing: they make two names look like one.
_BLANK = frozenset(
    (
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x2800,
        0x3164,
        0xFFA0,
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
_UNSHOWN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS = frozenset(("Mn", "Me", "Mc"))
# Dropped characters are not counted, so more than the limit is looked at, but never a megabyte.
_LOOKED_AT = 8


class CleanSymbol(Struct, frozen=True):
    """A token's symbol fit to show; cleaning makes fakes look perfect, so it says if it cleaned."""

    text: str
    altered: bool


def clean_text(raw: str | bytes, *, limit: int = MESSAGE_LIMIT) -> str:
    """One line of at most `limit` visible characters; an ellipsis marks what was cut."""
    if isinstance(raw, str) and len(raw) <= limit and _is_plain(raw):
        return raw
    window = _decoded(raw, limit)
    return _cut(_visible(window.text), limit, more=window.more)


def quote_words(raw: str, *, limit: int = QUOTE_LIMIT) -> str:
    """Somebody else's words inside a sentence of ours, as “…”; empty when nothing can be shown.

    Without this a revert reason could end our sentence and go on with a hint that looks like ours.
    """
    text = without_own_marks(clean_text(raw, limit=max(limit, MESSAGE_LIMIT)))
    return f"“{_cut(text, limit, more=False)}”" if text else ""


def without_own_marks(text: str) -> str:
    """The same without any mark that zuno draws with, full-width forms of them included."""
    return _visible(unicodedata.normalize("NFKC", text).translate(OWN_MARKS))


def _is_plain(text: str) -> bool:
    """Whether cleaning would change nothing: most text is so, and need not be gone through."""
    spaced = "  " in text or text[:1] == " " or text[-1:] == " "
    return text.isascii() and text.isprintable() and not spaced


def clean_symbol(raw: str | bytes) -> CleanSymbol:
    """A symbol in compatibility form (NFKC), with a note if that differs from what was given."""
    window = _decoded(raw, SYMBOL_LIMIT)
    folded = unicodedata.normalize("NFKC", window.text)
    text = _cut(_visible(folded), SYMBOL_LIMIT, more=window.more)
    return CleanSymbol(text, altered=text != window.text)


class _Window(Struct, frozen=True):
    text: str
    more: bool


def _decoded(raw: str | bytes, limit: int) -> _Window:
    size = limit * _LOOKED_AT
    if isinstance(raw, bytes):
        head = raw[: size * 4]
        text = head.decode("utf-8", errors="replace")
        return _Window(text[:size], more=len(raw) > len(head) or len(text) > size)
    return _Window(raw[:size], more=len(raw) > size)


def _visible(text: str) -> str:
    """Whitespace becomes single spaces, unseen characters go, marks do not pile up."""
    kept: list[str] = []
    after_mark = False
    for character in text:
        if character.isspace():
            if kept and kept[-1] != " ":
                kept.append(" ")
            after_mark = False
            continue
        code = ord(character)
        category = unicodedata.category(character)
        if code in DROP or code in _BLANK or category in _UNSHOWN:
            continue
        is_mark = category in _MARKS
        if is_mark and after_mark:
            continue
        after_mark = is_mark
        kept.append(character)
    return "".join(kept).strip()


def _cut(text: str, limit: int, *, more: bool) -> str:
    if len(text) <= limit and not more:
        return text
    return text[: limit - 1].rstrip() + "…"


class SecretStruct(Struct, frozen=True):
    """Its fields are compared and copied as any value's are, and never shown."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


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
_WHOLE_URL = re.compile(r"((?:http|ws)s?://)([^/?#]*@)?([^/?#]*)([^?#]*)(.*)", re.IGNORECASE)
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
    found = _WHOLE_URL.fullmatch(word)
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


REDACTED = "[redacted]"
SHORTEST_SECRET = 8  # replacing shorter ones would tear ordinary words apart

_TELLING_NAMES = (
    *("apikey", "privatekey", "seedphrase", "accesstoken", "authtoken", "bottoken", "rpcurl"),
    *("authorization", "mnemonic", "passphrase", "password", "secret"),
)
_SHAPES = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}"  # model providers
    r"|\b\d{8,10}:[A-Za-z0-9_-]{30,}"  # Telegram bots
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/=-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
# Each of the shapes, and each of the names, has one of these in it, as little else does.
_SHAPE_MARKS = (b"sk-", b"bearer", b"private", b"://")
_NAME_MARKS = (
    *(b"phrase", b"auth", b"mnemonic", b"password", b"secret", b"access", b"rpc"),
    *(b"apikey", b"api_key", b"api-key", b"bottoken", b"bot_token", b"bot-token"),
)
_BOT_MARK = re.compile(rb":(?=[0-9]{0,29}[A-Za-z_-])[A-Za-z0-9_-]{30}")
# What follows the host of a URL may be an API key; so may what stands before it.
_URL = re.compile(
    r"\b([a-z][a-z0-9+.-]{0,15}://)([^\s/@]*@)?([^\s/?#@\"'<>\\]+)([/?#][^\s\"'<>\\]*)?",
    re.IGNORECASE,
)


class SecretFieldError(ValueError):
    """Something was about to be written down under a name that only a secret has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"A field called {name!r} is not written down: rename it or leave it out.")


class Redactor:
    """Replaces secrets in texts and JSON values; holds them, so it never shows itself."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET:
                encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
                forms |= {secret, quote(secret, safe=""), encoded}
        # The longest first: one secret may be the beginning of another.
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._marks = tuple(canonical(form)[1:-1].lower() for form in self._forms)

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    def text(self, text: str) -> str:
        return _SHAPES.sub(REDACTED, _URL.sub(_host_only, self.without_known(text)))

    def without_known(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, REDACTED)
        return text

    def unfinished_length(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret."""
        return max((_overlap(text, form) for form in self._forms), default=0)

    def value(self, value: object) -> object:
        """The same JSON value without secrets; a telling field name raises SecretFieldError."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._name(str(name)): self.value(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def suspects(self, data: bytes, *, names: bool = True) -> bool:
        """Whether JSON bytes could hold anything to redact: a quick no spares the careful look."""
        lowered = data.lower()
        for marks in (self._marks, _SHAPE_MARKS, _NAME_MARKS if names else ()):
            for mark in marks:
                if mark in lowered:
                    return True
        return _BOT_MARK.search(data) is not None

    def _name(self, name: str) -> str:
        plain = re.sub(r"[^a-z]", "", name.lower())
        if any(telling in plain for telling in _TELLING_NAMES):
            raise SecretFieldError(name)
        return self.text(name)


def _host_only(found: re.Match[str]) -> str:
    scheme, user, host, rest = found.groups()
    if user is None and (rest is None or rest == "/"):
        return found.group()
    return f"{scheme}{host}/{REDACTED}"


def _overlap(text: str, form: str) -> int:
    for length in range(min(len(form) - 1, len(text)), 0, -1):
        if text.endswith(form[:length]):
            return length
    return 0
