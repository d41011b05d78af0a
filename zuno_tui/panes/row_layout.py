"""How a table's columns share the width there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from chain.clean_text import DROP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.panes.row_table import Column

_GROWS_FROM = 16
"""What a growing column has at least before others are given up."""
_WIDEST_GAP = 2


class Place(NamedTuple):
    """A column that is shown: which one it is, how wide, and where its words stand."""

    column: int
    width: int
    right: bool


class Layout(NamedTuple):
    places: tuple[Place, ...]
    gap: int


def laid_out(columns: Sequence[Column], widths: Sequence[int], room: int) -> Layout:
    """The columns that fit, the first ranks first, with what room is left shared out."""
    wanted = [
        min(width, _GROWS_FROM) if column.grows else width
        for column, width in zip(columns, widths, strict=True)
    ]
    kept: list[int] = []
    spare = room
    for place in sorted(range(len(columns)), key=lambda place: columns[place].rank):
        if not wanted[place]:
            continue
        if kept and wanted[place] + 1 > spare:
            break
        spare -= wanted[place] + bool(kept)
        kept.append(place)
    shares = dict.fromkeys(kept, 0)
    for place in kept:
        if columns[place].grows:
            shares[place] = max(0, min(spare, widths[place] - wanted[place]))
            spare -= shares[place]
    return Layout(
        tuple(
            Place(place, wanted[place] + shares[place], columns[place].right)
            for place in sorted(kept)
        ),
        gap=1 + min(_WIDEST_GAP, max(0, spare) // len(kept)) if kept else 1,
    )


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly so many cells; an ellipsis marks what was cut."""
    text = text.translate(DROP)
    size = text_size(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if right else text + " " * (width - size)


def text_size(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
