"""Tables of numbers by time, as people keep them: CSV, columns found by name, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import NamedTuple, TextIO

from chain.base.errors import ZunoError

TIME_NAMES = ("time", "timestamp", "unix", "date", "datetime", "open_time")
"""What a column of times may be called, the first that is there being read."""

_GZIP = b"\x1f\x8b"
_DELIMITERS = ",;\t"
_ABSENT = frozenset(("", "nan", "null", "none", "na"))
_LATEST_SECONDS = 1e11
"""The year 5138: larger numbers are milliseconds, or microseconds a thousand times later."""


class TableError(ZunoError, ValueError):
    """A file that cannot be read as a table; says where, and what would be read."""


class TimedTable(NamedTuple):
    """Rows in the order of their times, which are unix seconds and all different."""

    times: array[float]
    columns: Mapping[str, array[float]]
    """By the names that were asked for; `numpy.frombuffer` views them without a copy."""
    lines: array[int]
    """Where in the file each row stands, for whoever finds fault with one."""
    absent_rows: int
    """Rows with a time and no number at all: left out, a gap like a row that is not there."""
    repeated_rows: int
    """Rows that were there twice, word for word of what was read, and are counted once."""

    def __len__(self) -> int:
        return len(self.times)


class _Row(NamedTuple):
    time: float
    line: int
    numbers: tuple[float, ...]


def read_timed_table(
    path: Path, names: Sequence[str], times: Sequence[str] = TIME_NAMES
) -> TimedTable:
    """The columns of these names, capitals and order aside; other columns are not looked at."""
    absent: list[int] = []
    try:
        with _open(path) as file:
            rows = list(_rows(path, file, names, times, absent))
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path} is not a text table: {error}.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{path} is damaged, its gzip ends early or does not fit.") from error
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not rows:
        raise TableError(f"{path} has no row of numbers under its header.")
    if any(after.time <= before.time for before, after in pairwise(rows)):
        rows.sort()
    kept = list(_different(path, rows))
    return TimedTable(
        array("d", (row.time for row in kept)),
        {
            name: array("d", (row.numbers[place] for row in kept))
            for place, name in enumerate(names)
        },
        array("q", (row.line for row in kept)),
        len(absent),
        len(rows) - len(kept),
    )


def time_of(text: str) -> float:
    """Unix seconds of a moment in unix seconds, milliseconds or microseconds, or in ISO 8601.

    A moment that names no zone is UTC.
    """
    word = text.strip()
    try:
        number = float(word)
    except ValueError:
        moment = datetime.fromisoformat(word.removesuffix("UTC").rstrip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not isfinite(number) or number < 0:
        raise ValueError(f"{word} is no moment")
    while number > _LATEST_SECONDS:
        number /= 1000
    return number


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        packed = file.read(len(_GZIP)) == _GZIP
    if packed:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _rows(
    path: Path, file: TextIO, names: Sequence[str], times: Sequence[str], absent: list[int]
) -> Iterator[_Row]:
    first, above = _header(file)
    delimiter = max(_DELIMITERS, key=first.count)
    header = [name.strip().lower() for name in next(csv.reader([first], delimiter=delimiter), [])]
    where = f"{path}, line {above}"
    time_place = _place(where, header, times)
    places = [_place(where, header, (name,)) for name in names]
    reader = csv.reader(file, delimiter=delimiter)
    for cells in reader:
        line = reader.line_num + above
        if not cells:
            continue
        if len(cells) != len(header):
            raise TableError(
                f"{path}, line {line}: {len(cells)} cells where the header has {len(header)}."
            )
        try:
            time = time_of(cells[time_place])
        except (ValueError, OverflowError) as error:
            raise TableError(
                f"{path}, line {line}: {cells[time_place]!r} is no time. "
                "Unix seconds and ISO 8601, as 2023-01-31T16:00:00Z, are read."
            ) from error
        read = [cells[place] for place in places]
        if all(cell.strip().lower() in _ABSENT for cell in read):
            absent.append(line)
            continue
        yield _Row(time, line, _numbers(path, line, names, read))


def _header(file: TextIO) -> tuple[str, int]:
    """The first line with more than one cell, below whatever title, and which line it is."""
    for number, line in enumerate(file, 1):
        if any(delimiter in line for delimiter in _DELIMITERS):
            return line, number
    return "", 1


def _place(where: str, header: Sequence[str], names: Sequence[str]) -> int:
    for name in names:
        found = header.count(name.lower())
        if found > 1:
            raise TableError(f"{where}: the header has {found} columns called {name}.")
        if found:
            return header.index(name.lower())
    wanted = names[0] if len(names) == 1 else f"{names[0]} ({' or '.join(names[1:])})"
    shown = ", ".join(header)[:200]
    raise TableError(f"{where}: no column is called {wanted}; the header is: {shown}.")


def _numbers(
    path: Path, line: int, names: Sequence[str], cells: Iterable[str]
) -> tuple[float, ...]:
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            number = float(cell)
        except ValueError:
            number = float("nan")
        if not isfinite(number):
            raise TableError(f"{path}, line {line}: {name} is {cell!r}, which is no number.")
        numbers.append(number)
    return tuple(numbers)


def _different(path: Path, rows: Sequence[_Row]) -> Iterator[_Row]:
    """Each time once; two rows of one time that do not say the same are an error."""
    previous: _Row | None = None
    for row in rows:
        if previous is not None and row.time == previous.time:
            if row.numbers != previous.numbers:
                raise TableError(
                    f"{path}, lines {previous.line} and {row.line}: the same time with "
                    "different numbers. Leave the right one."
                )
            continue
        previous = row
        yield row
