"""A phrase cut into numbers, words and marks, before anything is known of their meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeVar

from chain.clean_text import clean_text

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    text: str
    """As it was typed."""

    @property
    def word(self) -> str:
        """As it is looked up."""
        return self.text.lower()


SEPARATOR = Piece(PieceKind.MARK, ",")


def cut(text: str) -> tuple[Piece, ...]:
    """The pieces of a phrase in order; unseen characters are gone, whatever is left is shown."""
    shown = clean_text(text, limit=LONGEST_PHRASE).translate(_TYPOGRAPHY)
    return tuple(_piece(match) for match in _PIECE.finditer(_LOOSE_APOSTROPHE.sub(" ", shown)))


def longest(
    pieces: Sequence[Piece], at: int, table: Mapping[Words, Found]
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


def past(pieces: Sequence[Piece], at: int, skipped: Container[str]) -> int:
    """The next place that holds none of the skipped words."""
    while at < len(pieces) and pieces[at].word in skipped:
        at += 1
    return at


def _piece(match: re.Match[str]) -> Piece:
    match match.lastgroup:
        case "even":
            return Piece(PieceKind.WORD, "50/50")
        case "number":
            return Piece(PieceKind.NUMBER, match[0])
        case "mark":
            return Piece(PieceKind.MARK, match[0])
        case _:
            # A full stop ends a sentence, but stands inside USDC.e.
            return Piece(PieceKind.WORD, match[0].rstrip("."))
