"""`zuno calibrate` and `zuno hedge-check`."""

import json
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from math import exp, sqrt
from pathlib import Path
from random import Random

import pytest

from agents.numbers.survival import SIGMA_SCATTER
from tests.printed import printed
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE


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


REAL = Path("../shared/data/eth-usdt-hours-2017-to-2023.csv.gz")
HOUR = 3_600


def hours_file(folder: Path, prices: Iterable[float]) -> Path:
    lines = ["time,open,high,low,close"]
    lines += [
        f"{1_700_000_000 // HOUR * HOUR + place * HOUR},{price},{price},{price},{price}"
        for place, price in enumerate(prices)
    ]
    path = folder / "hours.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def checked(path: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> list[dict[str, float]]:
    assert main(["hedge-check", "--hours", str(path), *flags, "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)
    found: list[dict[str, float]] = told["policies"]
    for forecast in told["forecasts"]:
        assert forecast["beyondTwice"] <= 0.08
    return found


def test_a_whole_hedge_takes_off_more_than_a_part_and_an_adjusted_one_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws, price, prices = Random(3), 3_000.0, []
    for _ in range(30 * 168):
        prices.append(round(price, 2))
        price *= exp(draws.gauss(0.0, 0.006))
    none, quarter, _half, once, _wide, adjusted, _narrow = checked(
        hours_file(tmp_path, prices), capsys
    )

    assert (none["cost"], none["adjustments"]) == (0.0, 0.0)
    assert adjusted["deviation"] < once["deviation"] < quarter["deviation"] < none["deviation"]
    assert adjusted["deviation"] < 0.4 * none["deviation"]
    assert 0 == once["adjustments"] < adjusted["adjustments"]
    assert quarter["cost"] < once["cost"] < adjusted["cost"]


def test_a_price_that_does_not_move_needs_no_adjustment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(hours_file(tmp_path, [3_000.0] * 400), capsys)

    assert {one["adjustments"] for one in found} == {0.0}
    # Opened and closed once: twice the fee on what is held in the coin.
    coin, dollars = 1 - 1 / sqrt(1.1), 1 - sqrt(0.9)
    assert found[3]["cost"] == pytest.approx(2 * 0.0005 * 10_000 * coin / (coin + dollars))


@pytest.mark.soak
@pytest.mark.skipif(not REAL.exists(), reason=f"no {REAL}")
def test_on_real_hours_a_whole_hedge_with_a_band_takes_off_most_of_the_deviation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = checked(REAL, capsys, "--width", "30%")
    none, once, adjusted = found[0], found[3], found[5]

    printed(
        f"hedged weeks: deviation ${none['deviation']:,.0f} alone, ${once['deviation']:,.0f} once, "
        f"${adjusted['deviation']:,.0f} adjusted {adjusted['adjustments']:.1f} times a week"
    )
    assert once["deviation"] < 0.6 * none["deviation"]
    assert adjusted["deviation"] < 0.35 * none["deviation"]
