"""Secrets kept out of what is shown and written: known values, and what looks like one."""

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote

from msgspec import Struct

from chain.base.strict_json import canonical


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

    def unfinished(self, text: str) -> int:
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
