"""Which columns of a table fit a width, how wide each is, and words cut to their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from chain.base.clean_text import DROP

_GROWS_FROM = 16
"""What a growing column has at least before others are given up."""
_WIDEST_GAP = 2


class TableColumn(Struct, frozen=True):
    title: str
    rank: int
    """The order in which columns are given up when the width is short, the highest first."""
    most: int
    """The widest it gets, however long its words; one without any words takes no room."""
    least: int = 0
    """The narrowest it gets: where words come and go, a steady width leaves the others alone."""
    right: bool = False
    grows: bool = False
    """Gives up its own room before others go, and takes back what they leave."""
    last: bool = False
    """Shown only where none of the others is cut for it."""
    goes_below: bool = False
    """Stands on a line of its own under the row where it would be cut and there is room."""


class ColumnPlace(NamedTuple):
    """A column that is shown: which one it is, how wide, and where its words stand."""

    column: int
    width: int
    right: bool


class TableLayout(NamedTuple):
    places: tuple[ColumnPlace, ...]
    gap: int


def laid_out(columns: Sequence[TableColumn], widths: Sequence[int], room: int) -> TableLayout:
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
        cut = sum(widths[each] - wanted[each] for each in kept) if columns[place].last else 0
        if kept and wanted[place] + 1 > spare - cut:
            break
        spare -= wanted[place] + bool(kept)
        kept.append(place)
    shares = dict.fromkeys(kept, 0)
    for place in kept:
        if columns[place].grows:
            shares[place] = max(0, min(spare, widths[place] - wanted[place]))
            spare -= shares[place]
    wider = min(_WIDEST_GAP, max(0, spare) // len(kept)) if kept else 0
    if wider < _WIDEST_GAP:
        # What does not reach for every gap parts the figures, which run together first.
        figures = [place for place in sorted(kept) if columns[place].right]
        for place in figures[: max(0, spare) - wider * len(kept)]:
            shares[place] += 1
    return TableLayout(
        tuple(
            ColumnPlace(place, wanted[place] + shares[place], columns[place].right)
            for place in sorted(kept)
        ),
        gap=1 + wider,
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
