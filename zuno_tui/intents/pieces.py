"""A phrase cut into numbers, words and marks, before anything is known of their meaning."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum, auto
from typing import TypeVar

from msgspec import Struct

from chain.base.clean_text import clean_text

_MOST_OFFERS = 6


def list_names(names: Iterable[str]) -> str:
    """At least one name, as `a`, `a and b` or `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def choose_one(kind: str, names: Iterable[str]) -> str:
    return f"You named several {kind}, {list_names(names)}: choose one."


def list_unknown(words: Iterable[str], known: Iterable[str]) -> str:
    """Every unknown word, and the nearest known one beside the first few."""
    spelled = {item.lower(): item for item in known}
    different = list(dict.fromkeys(words))
    first, rest = different[:_MOST_OFFERS], different[_MOST_OFFERS:]
    return list_names((*(f"{word!r}{_offer(word, spelled)}" for word in first), *map(repr, rest)))


def _offer(word: str, spelled: dict[str, str]) -> str:
    close = get_close_matches(word.lower(), spelled, 1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


Words = tuple[str, ...]
Found = TypeVar("Found")

LONGEST_PHRASE = 400
_MOST_WORDS = 3

# What keyboards and word processors put in place of the plain characters.
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("’‘", "'"),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys('"“”„«»`()[]{}', " "),
    }
)
_LOOSE_APOSTROPHE = re.compile(r"(?<![A-Za-z])'|'(?![A-Za-z])")
_PIECE = re.compile(
    r"""
      (?P<even>    (?<![0-9.,]) 50 \s? [/:-] \s? 50 (?! [.,]?[0-9] | % ) )
    | (?P<address> 0x [0-9a-z]* )
    | (?P<number>  (?: (?<![0-9a-z]) - )? \.?[0-9] (?: [.,_]?[0-9] )* (?: [km] (?![0-9a-z]) )? )
    | (?P<word>    [^\s0-9.,;:·!?&+/%$-] [^\s,;:·!?&+/%$-]* )
    | (?P<mark>    \S )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


class PieceKind(Enum):
    NUMBER = auto()
    WORD = auto()
    MARK = auto()


class PhrasePiece(Struct, frozen=True):
    kind: PieceKind
    text: str
    """As it was typed."""

    @property
    def word(self) -> str:
        """As it is looked up."""
        return self.text.lower()


SEPARATOR = PhrasePiece(PieceKind.MARK, ",")


def cut_phrase(text: str) -> tuple[PhrasePiece, ...]:
    """The pieces of a phrase in order; unseen characters are gone, whatever is left is shown."""
    shown = clean_text(text, limit=LONGEST_PHRASE).translate(_TYPOGRAPHY)
    return tuple(_piece(match) for match in _PIECE.finditer(_LOOSE_APOSTROPHE.sub(" ", shown)))


def longest(
    pieces: Sequence[PhrasePiece], at: int, table: Mapping[Words, Found]
) -> tuple[Found, int] | None:
    """The entry of most words that begins here, and where it ends; hyphens may join its words."""
    best: tuple[Found, int] | None = None
    words: Words = ()
    for _ in range(_MOST_WORDS):
        if at >= len(pieces) or pieces[at].kind is not PieceKind.WORD:
            break
        words = (*words, pieces[at].word)
        at += 1
        if words in table:
            best = table[words], at
        if at < len(pieces) and pieces[at].text == "-":
            at += 1
    return best


def past(pieces: Sequence[PhrasePiece], at: int, skipped: Container[str]) -> int:
    """The next place that holds none of the skipped words."""
    while at < len(pieces) and pieces[at].word in skipped:
        at += 1
    return at


def _piece(match: re.Match[str]) -> PhrasePiece:
    match match.lastgroup:
        case "even":
            return PhrasePiece(PieceKind.WORD, "50/50")
        case "number":
            return PhrasePiece(PieceKind.NUMBER, match[0])
        case "mark":
            return PhrasePiece(PieceKind.MARK, match[0])
        case _:
            # A full stop ends a sentence, but stands inside USDC.e.
            return PhrasePiece(PieceKind.WORD, match[0].rstrip("."))
