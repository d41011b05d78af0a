"""What a drawing is made of: lines of pieces, each with the tone it is drawn in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.desk.views import Tone


class Piece(NamedTuple):
    text: str
    tone: Tone = "plain"


Line = tuple[Piece, ...]


def plain(line: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in line)


def merged(pieces: Iterable[Piece]) -> Line:
    """Neighbours of one tone joined, so that a line of cells costs a few pieces."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].tone == piece.tone:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.tone)
        elif piece.text:
            joined.append(piece)
    return tuple(joined)


def figure(value: float) -> str:
    """A price or an amount in five digits, as short as it can be said: `3,094.9`, `0.00012`."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or size < 1e-9:
        return f"{value:.3g}"
    whole = len(str(int(size))) if size >= 1 else 0
    if whole:
        return f"{value:,.{max(0, 5 - whole)}f}"
    text = f"{value:.12f}".rstrip("0")
    lead = len(text) - len(text.lstrip("-0."))
    return text[: lead + 4]
