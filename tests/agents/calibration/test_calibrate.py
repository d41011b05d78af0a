"""Scoring chances: the arrays against the card's own functions, windows, gaps and bins."""

from math import exp, log1p
from pathlib import Path
from random import Random

import numpy as np
import pytest

from agents.calibration.calibrate import (
    WIDTHS,
    CentredSurvival,
    HourlyBars,
    bin_chances,
    calibrate,
    calibration_error,
    estimated_sigmas,
    first_exits,
    read_hourly_bars,
    realised_sigmas,
    width_reliability,
)
from agents.numbers.edges import TICK_LOG, Edges
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import SIGMA_SCATTER, buffer_hours, estimate_sigma, survival
from chain.base.table_file import TableError
from chain.base.units import HOUR, Known
from chain.history.volatility import PairClass, volatility

START = 1_600_000_000 // HOUR * HOUR
HOURLY = 0.006


def walk(tmp_path: Path, hours: int, missing: tuple[int, ...] = ()) -> Path:
    """A file of a random walk, with these hours left out."""
    random = Random(5)
    price = 2_000.0
    lines = ["time,open,high,low,close"]
    for hour in range(hours):
        way = [price]
        for _ in range(12):
            way.append(way[-1] * exp(random.gauss(0, HOURLY / 12**0.5)))
        price = way[-1]
        if hour not in missing:
            lines.append(f"{START + hour * HOUR},{way[0]},{max(way)},{min(way)},{price}")
    path = tmp_path / "hours.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def bars(tmp_path: Path) -> HourlyBars:
    return read_hourly_bars(walk(tmp_path, 900))


@pytest.mark.parametrize("scatter", [0.0, SIGMA_SCATTER])
@pytest.mark.parametrize("hours", [24, 168])
def test_the_table_says_what_the_card_says(scatter: float, hours: int) -> None:
    table = CentredSurvival(scatter)
    sigmas = np.geomspace(0.0005, 0.4, 25)
    for width in WIDTHS:
        half = log1p(width / 100)
        edges = Edges(half / TICK_LOG, half / TICK_LOG)
        chances = table.chances(half, sigmas, hours)
        buffers = table.buffers(half, sigmas)
        for sigma, chance, buffer in zip(sigmas, chances, buffers, strict=True):
            ticks = daily_ticks(float(sigma))
            assert chance == pytest.approx(survival(edges, ticks, hours, scatter), abs=1e-5)
            assert buffer == pytest.approx(buffer_hours(edges, ticks, scatter=scatter), rel=1e-9)


def test_estimates_are_those_of_the_card(bars: HourlyBars) -> None:
    sigmas = estimated_sigmas(bars)
    assert np.isnan(sigmas[:168]).all()
    for place in (168, 500, 899):
        day, week = (
            volatility(
                Known(tuple(np.exp(bars.close[place - hours : place + 1])), "test"),
                None,
                PairClass.MAJOR,
                hours=hours,
            ).daily_sigma
            for hours in (24, 168)
        )
        estimate = estimate_sigma(day, week)
        assert estimate is not None
        assert sigmas[place] == pytest.approx(estimate.daily_sigma, rel=1e-9)
    assert realised_sigmas(bars)[500] == pytest.approx(
        np.sqrt(np.sum(np.diff(bars.close[500:525]) ** 2)), rel=1e-9
    )


def test_exits_are_where_a_plain_search_finds_them(bars: HourlyBars) -> None:
    starts = np.arange(200, 400, 7)
    followed = np.where(starts % 2, 30, 60)
    half = 0.03
    exits = first_exits(bars, starts, half, followed)
    for start, most, found in zip(starts, followed, exits, strict=True):
        searched = next(
            (
                hour
                for hour in range(1, most + 1)
                if bars.high[start + hour] >= bars.close[start] + half
                or bars.low[start + hour] <= bars.close[start] - half
            ),
            0,
        )
        assert found == searched
    assert set(exits) > {0}


def test_errors_by_hand() -> None:
    said = np.array([0.05, 0.05, 0.95, 1.0])
    stayed = np.array([True, False, True, True])
    bins = bin_chances(said, stayed)
    assert [each.windows for each in bins] == [2, 2]
    assert calibration_error(bins) == pytest.approx((0.9 + 0.05) / 4)
    assert width_reliability(3, said, stayed).bias_points == pytest.approx(100 * (2.05 - 3) / 4)


def test_a_walk_of_constant_volatility_is_foretold_where_sigma_is_taken_as_known(
    tmp_path: Path,
) -> None:
    scored = calibrate(read_hourly_bars(walk(tmp_path, 6_000)), scatter=0.0)
    assert scored.day.worst_bias_points < 6
    assert scored.fitted_scatter is not None
    assert scored.fitted_scatter < 0.2


def test_no_window_reaches_across_a_gap(tmp_path: Path) -> None:
    scored = calibrate(read_hourly_bars(walk(tmp_path, 2_000, missing=(1_000,))))
    assert scored.day.windows == (1_000 - 168 - 24) + (999 - 168 - 24)
    assert scored.week is not None
    assert scored.week.windows == (1_000 - 720 - 168) + (999 - 720 - 168)


def test_a_period_takes_its_estimates_from_before_it_and_nothing_from_after(
    bars: HourlyBars,
) -> None:
    begin, end = START + 300 * HOUR, START + 600 * HOUR
    scored = calibrate(bars, begin, end)
    assert scored.begins == begin
    assert scored.ends == end - 24 * HOUR
    assert scored.day.windows == 300 - 24 + 1


def test_a_week_that_cannot_be_followed_is_unknown(bars: HourlyBars) -> None:
    assert calibrate(bars, begin=START + 850 * HOUR).week is None


@pytest.mark.parametrize(
    ("row", "line"),
    [("7200,1,2,3,1", 4), ("7200,1,2,0,1", 4), ("7200,1,2,1,-1", 4)],
)
def test_bars_that_cannot_be_are_refused_with_their_line(
    tmp_path: Path, row: str, line: int
) -> None:
    path = tmp_path / "hours.csv"
    path.write_text(f"time,open,high,low,close\n0,1,1,1,1\n3600,1,1,1,1\n{row}\n", "utf-8")
    with pytest.raises(TableError, match=f"line {line}"):
        read_hourly_bars(path)


def test_files_of_other_steps_and_short_ones_are_refused(tmp_path: Path, bars: HourlyBars) -> None:
    path = tmp_path / "minutes.csv"
    rows = "".join(f"{60 * minute},1,1,1,1\n" for minute in range(50))
    path.write_text(f"time,open,high,low,close\n{rows}", "utf-8")
    with pytest.raises(TableError, match="60 seconds"):
        read_hourly_bars(path)
    with pytest.raises(TableError, match="168 hours"):
        calibrate(bars, end=START + 100 * HOUR)


def test_an_open_beyond_its_high_is_counted_as_reached(tmp_path: Path) -> None:
    path = tmp_path / "hours.csv"
    path.write_text("time,open,high,low,close\n0,3,2,1,1\n3600,1,1,1,1\n", "utf-8")
    bars = read_hourly_bars(path)
    assert bars.widened == 1
    assert np.exp(bars.high[0]) == pytest.approx(3)
