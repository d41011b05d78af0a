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

import numpy as np
import numpy.typing as npt

from chain.base.errors import ZunoError

TIME_NAMES = ("time", "timestamp", "unix", "date", "datetime", "open_time")
"""What a column of times may be called, the first that is there being read."""

_GZIP = b"\x1f\x8b"
_DELIMITERS = ",;\t"
_ABSENT = frozenset(("", "nan", "null", "none", "na"))
_LATEST_SECONDS = 1e11
"""The year 5138: larger numbers are milliseconds, or microseconds a thousand times later."""


_CLOCK = len("2023-01-31T16:00:00")
_DIGITS = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18)
"""Where a moment has them; the rest is punctuation."""
_PIECE = 1 << 18
_ROW_END = -9e99
_UTC = frozenset((b"", b"Z", b"+00:00", b" UTC"))


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


class _TimedRow(NamedTuple):
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
    head_end = data.find(b"\n")
    header = data[: max(0, head_end)].decode("utf-8-sig").strip().lower().split(",")
    time_name = next((name for name in times if header.count(name) == 1), None)
    if time_name is None or any(header.count(name.lower()) != 1 for name in names):
        return None
    place = header.index(time_name)
    try:
        pieces = [
            _numbers_at_once(rows, len(header), may_be_written_out=not place)
            for rows in _pieces(data, head_end + 1)
        ]
    except ValueError:
        return None
    if not pieces:
        return None
    table = np.empty((len(header), sum(piece.shape[1] for piece in pieces)))
    np.concatenate(pieces, axis=1, out=table)
    moments = table[place]
    while moments[0] > _LATEST_SECONDS:
        moments /= 1000
    in_order = bool((np.diff(moments) > 0).all()) and bool(np.isfinite(table).all())
    if not in_order or moments[0] < 0 or moments[-1] > _LATEST_SECONDS:
        return None
    columns = {name: table[header.index(name.lower())] for name in names}
    return TimedTable(
        _as_array(moments),
        {name: _as_array(column) for name, column in columns.items()},
        array("q", np.arange(2, len(moments) + 2).tobytes()),
        absent_rows=0,
        repeated_rows=0,
    )


def _as_array(column: npt.NDArray[np.float64]) -> array[float]:
    kept = array("d")
    kept.frombytes(column.view("B").data)
    return kept


def _pieces(data: bytes, start: int) -> Iterator[bytes]:
    """Whole rows, so many as a processor keeps at hand: half the time of one long run."""
    while start < len(data):
        end = data.find(b"\n", start + _PIECE)
        end = len(data) if end < 0 else end
        rows = data[start:end]
        start = end + 1
        if start >= len(data):
            rows = rows.rstrip()
        if rows:
            yield rows


def _numbers_at_once(
    rows: bytes, width: int, *, may_be_written_out: bool
) -> npt.NDArray[np.float64]:
    """The columns of rows of numbers; ValueError where one is none, or has more or less of them."""
    import numpy as np
    from msgspec.json import Decoder

    written_out = may_be_written_out and b"-" in rows[: rows.index(b",")]
    moments, rows = _seconds(rows) if written_out else (None, rows)
    # As one list of JSON with a mark behind each row: nothing else here reads numbers as fast.
    mark = b",%g" % _ROW_END
    text = b"".join((b"[", rows.replace(b"\n", mark + b","), mark, b"]"))
    cells = Decoder(list[float]).decode(text)
    count, left_over = divmod(len(cells), width + 1)
    if left_over:
        raise ValueError("rows of several widths")
    table = np.fromiter(cells, np.float64, len(cells)).reshape(count, width + 1).T
    if (table[width] != _ROW_END).any() or (table[:width] == _ROW_END).any():
        raise ValueError("rows of several widths")
    if moments is not None:
        table[0] = moments
    return table[:width]


def _seconds(rows: bytes) -> tuple[npt.NDArray[np.float64], bytes]:
    """Unix seconds of the first column, and the rows with a zero in its place.

    Moments of one form and length are read, as programs write them.
    """
    import numpy as np

    length = rows.index(b",")
    raw = np.frombuffer(rows, np.uint8).copy()
    starts = np.concatenate(([0], np.flatnonzero(raw == ord("\n")) + 1))
    if starts[-1] + length >= len(raw):
        raise ValueError("the last row is too short")
    cells = raw[starts[:, None] + np.arange(length + 1)]
    moments, zones = cells[:, : min(length, _CLOCK)], cells[:, _CLOCK:length]
    digits = moments[:, [place for place in _DIGITS if place < length]]
    if (
        bytes(zones[0]) not in _UTC
        or (zones != zones[0]).any()
        or (cells[:, length] != ord(",")).any()
        or ((digits < ord("0")) | (digits > ord("9"))).any()
    ):
        raise ValueError("another way to write a moment")
    raw[starts[:, None] + np.arange(length)] = ord(" ")
    raw[starts] = ord("0")
    text = np.ascontiguousarray(moments).view(f"S{moments.shape[1]}").ravel()
    return text.astype("datetime64[s]").astype(np.float64), raw.tobytes()


def _rows(
    path: Path, file: TextIO, names: Sequence[str], times: Sequence[str], absent: list[int]
) -> Iterator[_TimedRow]:
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
        yield _TimedRow(time, line, _numbers(path, line, names, read))


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


def _different(path: Path, rows: Sequence[_TimedRow]) -> Iterator[_TimedRow]:
    """Each time once; two rows of one time that do not say the same are an error."""
    previous: _TimedRow | None = None
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
