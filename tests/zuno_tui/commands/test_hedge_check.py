"""Hedged weeks against unhedged ones, on drawn hours and on real ones."""

from __future__ import annotations

import json
from math import exp, sqrt
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.printed import printed
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    found: list[dict[str, float]] = json.loads(capsys.readouterr().out)
    return found


def test_a_whole_hedge_takes_off_more_than_a_part_and_an_adjusted_one_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws, price, prices = Random(3), 3_000.0, []
    for _ in range(60 * 168):
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
