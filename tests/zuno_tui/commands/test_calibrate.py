"""`zuno calibrate`: a table, a document and a picture of one file of hours."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from math import exp
from random import Random
from typing import TYPE_CHECKING

import pytest

from agents.numbers.survival import SIGMA_SCATTER
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hours(tmp_path: Path) -> str:
    """Twenty days of a walk, from 1 January 2021."""
    random = Random(3)
    close = 100.0
    lines = ["Date,Open,High,Low,Close,Volume"]
    for hour in range(960):
        opened, close = close, close * exp(random.gauss(0, 0.008))
        lines.append(
            f"{datetime(2021, 1, 1) + timedelta(hours=hour):%Y-%m-%dT%H}:00:00,{opened},"  # noqa: DTZ001
            f"{max(opened, close) * 1.001},{min(opened, close) * 0.999},{close},1"
        )
    path = tmp_path / "hours.csv"
    path.write_text("\n".join(lines), "utf-8")
    return str(path)


def test_the_document_has_every_score(hours: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--hours", hours, "--json"]) == DONE

    document = json.loads(capsys.readouterr().out)
    for horizon in ("24h", "7d"):
        assert document[horizon].keys() >= {"ece", "worst_width_ece", "worst_bias_points"}
    assert list(document["buffer"]["left_early"]) == ["1", "2", "3", "5", "7", "10", "15"]
    assert document["v"] == SIGMA_SCATTER
    assert document["windows"] == 960 - 168 - 24


def test_a_period_is_named_by_its_days(hours: str, capsys: pytest.CaptureFixture[str]) -> None:
    period = ("--from", "2021-01-10", "--to", "2021-01-15")
    assert main(["calibrate", "--hours", hours, *period, "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["from"].startswith("2021-01-10 00:00")
    assert document["to"].startswith("2021-01-15 00:00")

    assert main(["calibrate", "--hours", hours, "--to", "2021", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["windows"] == 960 - 168 - 24


def test_the_table_has_a_row_a_width_and_a_curve(
    hours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--hours", hours]) == DONE
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown if "±" in line] == [
        *("±1%", "±2%", "±3%", "±5%", "±7%", "±10%", "±15%")
    ]
    assert any(line.startswith("100% │") for line in shown)


def test_a_picture_is_written(hours: str, tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    assert main(["calibrate", "--hours", hours, "--png", str(picture)]) == DONE
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["calibrate", "--hours", hours, "--png", str(tmp_path)]) == FAILED


def test_without_the_extra_a_picture_says_what_installs_it(
    hours: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["calibrate", "--hours", hours, "--png", str(tmp_path / "curve.png")]) == FAILED
    assert "[charts]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("period", "code"),
    [
        (("--from", "2030"), FAILED),
        (("--from", "2021-02-30"), USAGE),
        (("--from", "2022", "--to", "2021"), USAGE),
    ],
)
def test_periods_without_hours_are_told(hours: str, period: tuple[str, ...], code: int) -> None:
    assert main(["calibrate", "--hours", hours, *period]) == code


def test_a_missing_file_and_a_strange_period_are_told(tmp_path: Path) -> None:
    assert main(["calibrate", "--hours", str(tmp_path / "none.csv")]) == FAILED
    with pytest.raises(SystemExit):
        main(["calibrate", "--hours", "x", "--from", "yesterday"])
    with pytest.raises(SystemExit):
        main(["calibrate"])
