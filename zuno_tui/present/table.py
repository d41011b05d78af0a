"""Aligned columns for people; each line remembers its cells, so that a terminal can fit it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from chain.base.clean_text import DROP

if TYPE_CHECKING:
    from collections.abc import Sequence


class OutputColumn(Struct, frozen=True):
    title: str
    align: Literal["left", "right"] = "left"


class TableRow(str):
    """A line of a table, with what it is made of."""

    __slots__ = ("cells", "columns", "key")

    cells: tuple[str, ...]
    columns: tuple[OutputColumn, ...]
    key: int
    """The same for every line of one table."""


def table(
    columns: Sequence[OutputColumn], rows: Sequence[Sequence[str]], *, gap: int = 2
) -> list[str]:
    """Aligned text columns, cleaned cell by cell."""
    titles = tuple(column.title for column in columns)
    cells = [titles, *(tuple(cell.translate(DROP) for cell in row) for row in rows)]
    widths = widths_of(columns, cells)
    lines = [TableRow(aligned(row, columns, widths, gap=gap)) for row in cells]
    for line, row in zip(lines, cells, strict=True):
        line.cells, line.columns, line.key = row, tuple(columns), id(lines)
    return [*lines]


def widths_of(columns: Sequence[OutputColumn], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_width(row[at]) for row in rows) for at in range(len(columns))]


def cell_width(text: str) -> int:
    """How many terminal cells a line takes: wide characters take two, marks none."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def aligned(
    cells: Sequence[str],
    columns: Sequence[OutputColumn],
    widths: Sequence[int],
    tones: Sequence[tuple[str, str]] | None = None,
    *,
    gap: int = 2,
) -> str:
    """The cells beside each other, each between the marks of its tone where there are such."""
    padded = []
    for at, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        space = " " * (width - cell_width(cell))
        before, after = tones[at] if tones else ("", "")
        toned = f"{before}{cell}{after}" if cell else cell
        padded.append(space + toned if column.align == "right" else toned + space)
    return (" " * gap).join(padded).rstrip()
