"""How commands print: JSON for programs, aligned columns for people, never a control byte."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

from msgspec import Struct

from chain.base.clean_text import DROP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Json: TypeAlias = Union[str, int, float, bool, "Sequence[Json]", "Mapping[str, Json]", None]

LARGEST_SAFE_INTEGER = 2**53 - 1


class OutputColumn(Struct, frozen=True):
    title: str
    align: Literal["left", "right"] = "left"


def print_json(value: Json) -> None:
    print_lines([json_text(value)])


def json_text(value: Json) -> str:
    """One JSON document; escaped to ASCII, so no byte of it can steer a terminal."""
    _refuse_unsafe_integers(value)
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)


def print_json_line(value: Json) -> None:
    """One document on one line, for programs that listen while a command runs."""
    _refuse_unsafe_integers(value)
    print_lines([json.dumps(value, ensure_ascii=True, allow_nan=False)])


def print_lines(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def table(columns: Sequence[OutputColumn], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned text columns, cleaned cell by cell, two spaces apart."""
    cleaned = [[cell.translate(DROP) for cell in row] for row in rows]
    widths = [
        max(len(column.title), *(cell_width(row[index]) for row in cleaned), 0)
        for index, column in enumerate(columns)
    ]
    titles = [column.title for column in columns]
    return [_aligned(row, columns, widths) for row in (titles, *cleaned)]


def cell_width(text: str) -> int:
    """How many terminal cells a line takes: wide characters take two, marks none."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _aligned(cells: Sequence[str], columns: Sequence[OutputColumn], widths: Sequence[int]) -> str:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        space = " " * (width - cell_width(cell))
        padded.append(space + cell if column.align == "right" else cell + space)
    return "  ".join(padded).rstrip()


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
