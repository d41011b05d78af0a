"""Tables as people keep them: read by column name, with errors that say where."""

import gzip
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chain.base.table_file import TableError, read_timed_table, time_of

NAMES = ("open", "close")
MOMENT = 1_675_180_800.0
"""2023-01-31 16:00 UTC."""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "1675180800",
        "1675180800.0",
        "1675180800000",
        "1675180800000000",
        "2023-01-31T16:00:00Z",
        "2023-01-31 16:00:00",
        "2023-01-31 16:00:00 UTC",
        "2023-01-31T18:00:00+02:00",
        "2023-01-31T16:00:00.000000",
    ],
)
def test_one_moment_in_every_way_it_is_written(text: str) -> None:
    assert time_of(text) == MOMENT


def test_columns_are_found_by_name_whatever_else_is_there(tmp_path: Path) -> None:
    table = read_timed_table(
        written(tmp_path, "\ufeffClose,volume, Open ,Date\n2,x,1,2023-01-31\n4,,3,2023-02-01\n"),
        NAMES,
    )
    assert list(table.columns["open"]) == [1, 3]
    assert list(table.columns["close"]) == [2, 4]
    assert table.times[1] - table.times[0] == 86_400


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_packed_file_and_other_delimiters_are_read_alike(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "named-as-anything"
    text = "time,open,close\n0,1,2\n3600,3,4\n".replace(",", delimiter)
    path.write_bytes(gzip.compress(text.encode()))
    assert list(read_timed_table(path, NAMES).columns["close"]) == [2, 4]


def test_rows_are_sorted_and_repeated_ones_count_once(tmp_path: Path) -> None:
    table = read_timed_table(
        written(tmp_path, "time,open,close\n7200,5,6\n3600,3,4\n7200,5,6\n\n0,1,2\n1800,,nan\n"),
        NAMES,
    )
    assert list(table.times) == [0, 3600, 7200]
    assert list(table.columns["open"]) == [1, 3, 5]
    assert list(table.lines) == [6, 3, 2]
    assert (table.repeated_rows, table.absent_rows) == (1, 1)


def test_a_title_above_the_header_is_passed_over(tmp_path: Path) -> None:
    title = "hours of a market\n\n"
    table = read_timed_table(written(tmp_path, f"{title}time,open,close\n0,1,2\n"), NAMES)
    assert list(table.lines) == [4]
    with pytest.raises(TableError, match="line 4"):
        read_timed_table(written(tmp_path, f"{title}time,open,close\n0,1,x\n"), NAMES)
    with pytest.raises(TableError, match="line 3"):
        read_timed_table(written(tmp_path, f"{title}time,open\n0,1\n"), NAMES)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1"),
        ("open,close\n1,2\n", "line 1"),
        ("time,open\n0,1\n", "line 1"),
        ("time,open,open,close\n0,1,1,1\n", "line 1"),
        ("time,open,close\n", "no row"),
        ("time,open,close\n0,1,2\n3600,1\n", "line 3"),
        ("time,open,close\n0,1,2\n3600,1,x\n", "line 3"),
        ("time,open,close\n0,1,2\n3600,1,inf\n", "line 3"),
        ("time,open,close\n0,1,2\n3600,1,\n", "line 3"),
        ("time,open,close\nyesterday,1,2\n", "line 2"),
        ("time,open,close\n-5,1,2\n", "line 2"),
        ("time,open,close\n0,1,2\n3600,1,2\n0,1,3\n", "lines 2 and 4"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(TableError, match=where):
        read_timed_table(written(tmp_path, text), NAMES)


def test_a_file_that_is_missing_binary_or_cut_off_is_told(tmp_path: Path) -> None:
    binary, cut = tmp_path / "binary", tmp_path / "cut"
    binary.write_bytes(b"time,open,close\n0,\xff\xfe,1\n")
    cut.write_bytes(gzip.compress(b"time,open,close\n" + b"0,1,2\n" * 1000)[:-20])
    for path in (tmp_path / "missing", tmp_path, binary, cut):
        with pytest.raises(TableError, match=str(path)):
            read_timed_table(path, NAMES)


def _moment(style: str, seconds: int) -> str:
    if style == "milliseconds":
        return f"{seconds}000"
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime(style) if "%" in style else str(seconds)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "style",
    ["unix", "milliseconds", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"],
)
def test_a_plain_file_read_at_once_is_what_its_rows_say(
    tmp_path: Path, style: str, ending: str
) -> None:
    chance, lines = random.Random(style), ["time,open,close"]
    for day in range(9_000):
        prices = [repr(chance.lognormvariate(0, 9) * chance.choice((1, -1))) for _ in NAMES]
        lines.append(",".join((_moment(style, round(MOMENT) + 86_400 * day), *prices)))
    at_once = read_timed_table(written(tmp_path, ending.join(lines) + ending), NAMES)
    # A quoted cell is no plain number: such a file is read row by row.
    moment, *prices = lines[1].split(",")
    lines[1] = ",".join((f'"{moment}"', *prices))
    assert at_once == read_timed_table(written(tmp_path, ending.join(lines) + ending), NAMES)
