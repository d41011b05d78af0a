"""Lines as a terminal shows them: no wider than it, with colours where it has them."""

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import Literal, TextIO

from msgspec import Struct

from chain.base.clean_text import DROP

_NARROWEST = 40
_FRAME: ContextVar[int] = ContextVar("frame", default=0)


def line_width() -> int | None:
    """How long a line may be in the terminal; None where there is none."""
    if not sys.stderr.isatty() and "COLUMNS" not in os.environ:
        return None
    return max(_NARROWEST, shutil.get_terminal_size().columns - _FRAME.get())


@contextmanager
def page_frame(cells: int) -> Iterator[None]:
    """Lines are made for a page, whose frame takes so many cells."""
    before = _FRAME.set(cells)
    try:
        yield
    finally:
        _FRAME.reset(before)


class OutputColumn(Struct, frozen=True):
    title: str
    align: Literal["left", "right"] = "left"


def columns(*titles: str) -> tuple[OutputColumn, ...]:
    """By their titles; one that ends in > is set flush right."""
    return tuple(
        OutputColumn(title.removesuffix(">"), "right" if title.endswith(">") else "left")
        for title in titles
    )


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
    lines = [TableRow(align_cells(row, columns, widths, gap=gap)) for row in cells]
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


def align_cells(
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


NARROWEST = 40
_LEAST_TEXT = 12
_GAP = 2
_INDENT = "    "
_TITLE, _GOOD, _WARN, _BAD, _END = "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
_TONES = (
    (_BAD, ("out of range", "critical", "failed", "unreachable", "−", "-$")),
    (_WARN, ("near edge", "warning", "approved", "operator", "empty")),
    (_GOOD, ("in range", "ok", "+")),
)


class Terminal(Struct, frozen=True):
    width: int | None
    """None where nothing limits a line."""
    colours: bool


def terminal_of(stream: TextIO) -> Terminal:
    """A pipe has no width, unless COLUMNS says one, and never colours."""
    there = stream.isatty()
    named = os.environ.get("COLUMNS", "")
    width = None
    if there:
        width = shutil.get_terminal_size().columns
    elif named.isascii() and named.isdigit():
        width = int(named)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Terminal(None if width is None else max(NARROWEST, width), there and not plain)


def fit_lines(lines: Iterable[str], terminal: Terminal) -> Iterator[str]:
    """Tables folded to the width, other lines broken between words."""
    for key, group in groupby(lines, lambda line: line.key if isinstance(line, TableRow) else None):
        if key is None:
            yield from (part for line in group for part in _broken(line, terminal.width))
        else:
            yield from _table([line for line in group if isinstance(line, TableRow)], terminal)


def _broken(line: str, width: int | None) -> Iterable[str]:
    if width is None or "\n" in line or cell_width(line) <= width:
        return (line,)
    indent = line[: len(line) - len(line.lstrip())] + "  "
    return textwrap.wrap(
        line, width, subsequent_indent=indent, drop_whitespace=True, replace_whitespace=False
    )


def _table(rows: Sequence[TableRow], terminal: Terminal) -> Iterator[str]:
    columns = rows[0].columns
    cells = [row.cells for row in rows]
    widths = widths_of(columns, cells)
    groups = column_groups(widths, terminal.width)
    limits = [column_limits(widths, group, columns, terminal.width) for group in groups]
    for place, row in enumerate(rows):
        for number, (group, limit) in enumerate(zip(groups, limits, strict=True)):
            shown = [cell_lines(row.cells[at], limit.get(at)) for at in group]
            for line in range(max(map(len, shown))):
                parts = [cell[line] if line < len(cell) else "" for cell in shown]
                room = [limit.get(at, widths[at]) for at in group]
                tones = _tones(row, group, title=place == 0) if terminal.colours else None
                text = align_cells(parts, [columns[at] for at in group], room, tones)
                if text:
                    yield f"{_INDENT if number else ''}{text}"


def column_groups(widths: Sequence[int], width: int | None) -> list[tuple[int, ...]]:
    """Columns that stand on one line together; those that find no room go to the next."""
    if width is None or _together(widths, range(len(widths))) <= width:
        return [tuple(range(len(widths)))]
    longest = max(range(len(widths)), key=lambda at: widths[at])
    others = _together(widths, range(len(widths))) - widths[longest]
    if width - others >= min(widths[longest], 2 * _LEAST_TEXT):
        return [tuple(range(len(widths)))]
    groups: list[tuple[int, ...]] = [()]
    for at, own in enumerate(widths):
        room = width - (len(_INDENT) if len(groups) > 1 else 0)
        held = _together(widths, groups[-1])
        least = min(own, 2 * _LEAST_TEXT)
        if groups[-1] and held + _GAP + least > room:
            groups.append(())
        groups[-1] += (at,)
    return groups


def _together(widths: Sequence[int], group: Iterable[int]) -> int:
    kept = [widths[at] for at in group]
    return sum(kept) + _GAP * max(0, len(kept) - 1)


def column_limits(
    widths: Sequence[int], group: Sequence[int], columns: Sequence[OutputColumn], width: int | None
) -> dict[int, int]:
    """The widest column of a line gives what the line is too wide by."""
    if width is None:
        return {}
    room = width - (len(_INDENT) if group[0] else 0)
    over = _together(widths, group) - room
    if over <= 0:
        return {}
    longest = max(group, key=lambda at: (widths[at], columns[at].align == "left"))
    return {longest: max(_LEAST_TEXT, widths[longest] - over)}


def cell_lines(cell: str, limit: int | None) -> list[str]:
    """A cell over several lines where its column is narrower than it."""
    if limit is None or cell_width(cell) <= limit:
        return [cell]
    # Breaking counts characters, of which some take two cells.
    wide = max(0, cell_width(cell) - len(cell))
    return textwrap.wrap(cell, max(1, limit - wide)) or [""]


def _tones(row: TableRow, group: Sequence[int], *, title: bool) -> list[tuple[str, str]]:
    return [(_TITLE, _END) if title else _tone(row.cells[at]) for at in group]


def _tone(cell: str) -> tuple[str, str]:
    for tone, starts in _TONES:
        if cell.startswith(starts):
            return tone, _END
    return "", ""
