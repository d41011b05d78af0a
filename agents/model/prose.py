"""Reads the first text of a JSON object while it is still being written."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from agents.model.reply_text import PROSE_LIMIT
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.base.redaction import Redactor

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = range(0xD800, 0xE000)
_FIRST_LOW = 0xDC00


class _Place(Enum):
    BEFORE_OBJECT = auto()
    BEFORE_KEY = auto()
    IN_KEY = auto()
    BEFORE_COLON = auto()
    BEFORE_VALUE = auto()
    IN_VALUE = auto()
    DONE = auto()


class ProseReader:
    """Feed it JSON as it comes, cut anywhere; it gives the first field's text as far as known."""

    def __init__(self) -> None:
        self._place = _Place.BEFORE_OBJECT
        self._escape = ""
        self._high = 0

    def feed(self, text: str) -> str:
        said: list[str] = []
        for character in text:
            if self._place is _Place.DONE:
                break
            if self._place is _Place.IN_VALUE:
                self._read(character, said)
            elif self._escape or character == "\\":
                self._skip_escape(character)
            else:
                self._place = _step(self._place, character)
        return "".join(said)

    def _skip_escape(self, character: str) -> None:
        # Only a key can hold one here: what it stands for does not matter, a quote in it does.
        self._escape = "" if self._escape else character

    def _read(self, character: str, said: list[str]) -> None:
        if not self._escape:
            if character == '"':
                self._say("", said)
                self._place = _Place.DONE
            elif character == "\\":
                self._escape = character
            else:
                self._say_code(ord(character), said)
            return
        self._escape += character
        if self._escape[1] != "u":
            self._say(_ESCAPES.get(character, _UNKNOWN), said)
            self._escape = ""
        elif len(self._escape) == len("\\u0000"):
            self._say_code(_hex(self._escape[2:]), said)
            self._escape = ""

    def _say_code(self, code: int, said: list[str]) -> None:
        if code not in _SURROGATES:
            self._say(chr(code), said)
        elif code < _FIRST_LOW:
            self._say("", said)
            self._high = code
        elif self._high:
            whole = 0x10000 + ((self._high - 0xD800) << 10) + (code - _FIRST_LOW)
            self._high = 0
            said.append(chr(whole))
        else:
            said.append(_UNKNOWN)

    def _say(self, text: str, said: list[str]) -> None:
        if self._high:
            # The second half of a character never came.
            self._high = 0
            said.append(_UNKNOWN)
        said.append(text)


class ProseStream:
    """Passes words on as they come, clean, without known secrets, and not without end."""

    def __init__(self, listener: Callable[[str], None], redactor: Redactor) -> None:
        self._listener = listener
        self._redactor = redactor
        self._reader = ProseReader()
        self._gap = ""
        self._held = ""
        self._said = 0

    def feed(self, text: str) -> None:
        # Cleaned before secrets are looked for: invisible characters could hide one.
        known = self._redactor.without_known(self._held + self._clean(self._reader.feed(text)))
        kept = self._redactor.unfinished(known)
        self._held = known[len(known) - kept :]
        self._pass_on(known[: len(known) - kept])

    def close(self) -> None:
        self._pass_on(self._held)
        self._held = ""

    def _clean(self, text: str) -> str:
        """The clean words of a piece; space at its end waits for the words that follow."""
        # Between two letters the spaces at its ends survive the cleaning.
        piece = self._gap + clean_text(f"x{text}x", limit=PROSE_LIMIT)[1:-1].lstrip(self._gap)
        words = piece.rstrip(" ")
        self._gap = " " if piece != words else ""
        return words if self._said or self._held else words.lstrip(" ")

    def _pass_on(self, text: str) -> None:
        said = text[: PROSE_LIMIT - self._said]
        if said:
            self._said += len(said)
            self._listener(said)


def _step(place: _Place, character: str) -> _Place:
    if place is _Place.IN_KEY:
        return _Place.BEFORE_COLON if character == '"' else place
    if character.isspace():
        return place
    if place is _Place.BEFORE_OBJECT or (place is _Place.BEFORE_KEY and character not in '"}'):
        # Words or a code fence may stand before the object.
        return _Place.BEFORE_KEY if character == "{" else _Place.BEFORE_OBJECT
    expected = {
        _Place.BEFORE_KEY: ('"', _Place.IN_KEY),
        _Place.BEFORE_COLON: (":", _Place.BEFORE_VALUE),
        _Place.BEFORE_VALUE: ('"', _Place.IN_VALUE),
    }
    mark, following = expected[place]
    return following if character == mark else _Place.DONE


def _hex(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return ord(_UNKNOWN)
