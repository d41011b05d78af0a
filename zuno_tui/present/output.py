"""How commands print: JSON for programs, lines that fit the terminal for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, Union

from zuno_tui.present.terminal import OutputColumn, cell_width, fit_lines, table, terminal_of

if TYPE_CHECKING:
    from agents.bus.envelope import SpokenCell, SpokenTable


Json: TypeAlias = Union[str, int, float, bool, "Sequence[Json]", "Mapping[str, Json]", None]

__all__ = [
    "Json",
    "OutputColumn",
    "cell_width",
    "json_text",
    "print_exactly",
    "print_json",
    "print_json_line",
    "print_lines",
    "table",
]

LARGEST_SAFE_INTEGER = 2**53 - 1


def print_json(value: Json) -> None:
    print_exactly([json_text(value)])


def json_text(value: Json) -> str:
    """One JSON document; escaped to ASCII, so no byte of it can steer a terminal."""
    _refuse_unsafe_integers(value)
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)


def print_json_line(value: Json) -> None:
    """One document on one line, for programs that listen while a command runs."""
    _refuse_unsafe_integers(value)
    print_exactly([json.dumps(value, ensure_ascii=True, allow_nan=False)])


def print_lines(lines: Iterable[str]) -> None:
    """For people: no wider than the terminal, with its colours."""
    sys.stdout.write("".join(f"{line}\n" for line in fit_lines(lines, terminal_of(sys.stdout))))
    sys.stdout.flush()


def print_exactly(lines: Iterable[str]) -> None:
    """For programs: lines as they are."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _refuse_unsafe_integers(value: Json) -> None:
    """A field that may pass 2^53 must be written as text, or other languages read it wrong."""
    if isinstance(value, str):
        return
    if isinstance(value, int) and abs(value) > LARGEST_SAFE_INTEGER:
        raise TypeError(f"{value} must be printed as a string: it passes 2^53.")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_unsafe_integers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_unsafe_integers(item)


FAILED = "✗"
_JUDGED = "judged"
_LETTER = re.compile(r"^((?:★ )?[A-Z]) .*")
"""Of a move's name."""


def table_lines(spoken: SpokenTable, width: int | None) -> list[str]:
    """The table in at most this many cells where it can be; None is as wide as it likes.

    Too wide, it is turned over, then told in parts of fewer moves; too wide even then, each row
    becomes a line that can be broken.
    """
    columns = spoken.columns
    rows = [[row.name, *map(_marked, columns, row.cells)] for row in spoken.rows]
    upright = [["", *columns], *rows]
    turned = [list(column) for column in zip(*upright, strict=True)]
    by_letter = [[_LETTER.sub(r"\1", name) for name in turned[0]], *turned[1:]]
    for (titles, *cells), gap in product((upright, turned, by_letter), (2, 1)):
        if titles == turned[0] and gap == 1:
            continue  # Moves by their letters stand apart, and are read more easily.
        heads = [OutputColumn(titles[0]), *map(_column, titles[1:])]
        lines = table(heads, cells, gap=gap)
        if width is None or max(map(cell_width, lines), default=0) <= width:
            return lines
    for parts in range(2, len(rows)):
        size = -(-len(rows) // parts)
        starts = range(1, len(rows) + 1, size)
        told = [_moves(by_letter, start, start + size) for start in starts]
        if max(cell_width(line) for lines in told for line in lines) <= (width or 0):
            return [line for lines in told for line in ("", *lines)][1:]
    return [_in_a_line(spoken, place) for place in range(len(spoken.rows))]


def _moves(turned: list[list[str]], start: int, end: int) -> list[str]:
    """Some moves of a table that is turned over, under their names."""
    cut = [[row[0], *row[start:end]] for row in turned]
    return table([OutputColumn(""), *map(_column, cut[0][1:])], cut[1:], gap=2)


def _column(title: str) -> OutputColumn:
    """Words begin under each other, figures end there."""
    return OutputColumn(title) if title == _JUDGED else OutputColumn(title, "right")


def _in_a_line(spoken: SpokenTable, place: int) -> str:
    row = spoken.rows[place]
    told = (
        f"{name} {_marked(name, cell)}"
        for name, cell in zip(spoken.columns, row.cells, strict=False)
        if cell.text != "–"
    )
    return f"{row.name}: {' · '.join(told)}"


def _marked(column: str, cell: SpokenCell) -> str:
    """What fails has a mark, unless its words say so: what passes needs none."""
    fails = cell.passed is False and column != _JUDGED
    return f"{FAILED} {cell.text}" if fails else cell.text
