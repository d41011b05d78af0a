"""How commands print: JSON for programs, lines that fit the terminal for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, Union

from zuno_tui.present.terminal import OutputColumn, cell_width, fitted, table, terminal_of

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
    sys.stdout.write("".join(f"{line}\n" for line in fitted(lines, terminal_of(sys.stdout))))
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
