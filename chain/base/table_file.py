"""Tables of numbers by time, as people keep them: CSV, columns found by name, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
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
        plain = _read_at_once(path, names, times)
        if plain is not None:
            return plain
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


def _read_at_once(path: Path, names: Sequence[str], times: Sequence[str]) -> TimedTable | None:
    """A file of nothing but numbers under its header, in order: many times as fast as by rows.

    None where anything is otherwise: then it is read row by row, and a fault told with its line.
    """
    import numpy as np

    data = path.read_bytes()
    if data.startswith(_GZIP):
        data = gzip.decompress(data)
    head, _, body = data.partition(b"\n")
    header = head.decode("utf-8-sig").strip().lower().split(",")
    time_name = next((name for name in times if header.count(name) == 1), None)
    if time_name is None or any(header.count(name.lower()) != 1 for name in names):
        return None
    place = header.index(time_name)
    body = body.replace(b"\r", b"").rstrip(b"\n")
    try:
        stamps: Sequence[bytes] = ()
        if not place and b"-" in body[: body.index(b",")]:
            stamps, body = _moments_apart(body)
        table = np.loadtxt(BytesIO(body), delimiter=",", comments=None, ndmin=2).T
        moments = np.fromiter(_seconds(stamps), np.float64) if stamps else table[place]
    except ValueError:
        return None
    apart = bool(stamps)
    if len(table) != len(header) - apart or body.count(b"\n") + 1 != len(moments):
        return None
    in_order = bool((np.diff(moments) > 0).all()) and bool(np.isfinite(table).all())
    if not in_order or moments[0] < 0 or moments[-1] > _LATEST_SECONDS:
        return None
    columns = {name: table[header.index(name.lower()) - apart] for name in names}
    return TimedTable(
        array("d", moments.tobytes()),
        {name: array("d", column.tobytes()) for name, column in columns.items()},
        array("q", np.arange(2, len(moments) + 2).tobytes()),
        absent_rows=0,
        repeated_rows=0,
    )


def _moments_apart(body: bytes) -> tuple[Sequence[bytes], bytes]:
    """Moments of one length in the first column, as any program writes them, and the rest."""
    length, lines = body.index(b","), body.split(b"\n")
    if any(line[length : length + 1] != b"," for line in lines):
        raise ValueError("moments of several lengths")
    return [line[:length] for line in lines], b"\n".join([line[length + 1 :] for line in lines])


def _seconds(stamps: Sequence[bytes]) -> Iterator[float]:
    """Unix seconds of many moments, each day of which is looked up once."""
    days: dict[bytes, float] = {}
    for stamp in stamps:
        day, clock = stamp[:10], stamp[10:]
        begin = days.get(day)
        if begin is None:
            begin = days[day] = time_of(day.decode())
        if not clock:
            yield begin
        elif clock[9:] in (b"", b"Z", b"+00:00", b" UTC") and clock[3:4] == clock[6:7] == b":":
            yield begin + 3600 * int(clock[1:3]) + 60 * int(clock[4:6]) + int(clock[7:9])
        else:
            raise ValueError("another way to write a moment")


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
