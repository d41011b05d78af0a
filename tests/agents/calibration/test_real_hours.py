"""The constant and the promises, on hours of ETH that really were."""

from datetime import UTC, datetime

import pytest

from agents.calibration.calibrate import Calibration, HourlyBars, calibrate, read_hourly_bars
from agents.numbers.calibrated import calibration_figures
from agents.numbers.survival import SIGMA_SCATTER
from tests.market_data import market_data

FITTED_UNTIL = datetime(2021, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def bars() -> HourlyBars:
    return read_hourly_bars(market_data("eth-usdt-hours-2017-to-2023.csv.gz"))


@pytest.fixture(scope="module")
def judged(bars: HourlyBars) -> Calibration:
    """The years that had no part in fitting."""
    return calibrate(bars, begin=FITTED_UNTIL)


def test_the_scatter_is_that_of_the_years_before(bars: HourlyBars) -> None:
    fitted = calibrate(bars, end=FITTED_UNTIL).fitted_scatter
    assert fitted is not None
    assert round(fitted, 2) == SIGMA_SCATTER


def test_chances_of_a_day_come_true(judged: Calibration) -> None:
    assert judged.day.windows == 21_332
    assert judged.day.ece <= 0.02
    assert judged.day.worst_width_ece <= 0.05
    assert judged.day.worst_bias_points <= 3


def test_chances_of_a_week_come_true_with_the_month_before_them(judged: Calibration) -> None:
    assert judged.week is not None
    assert judged.week.ece <= 0.02
    assert judged.week.worst_width_ece <= 0.06
    assert judged.week.worst_bias_points <= 4


def test_what_the_card_says_of_its_chances_is_what_these_hours_say(judged: Calibration) -> None:
    told = calibration_figures()
    assert judged.week is not None
    assert told.week is not None
    for said, found in ((told.day, judged.day), (told.week, judged.week)):
        assert said.windows == found.windows
        assert said.worst_bias_points == pytest.approx(found.worst_bias_points, abs=1e-4)


def test_what_it_says_of_a_year_is_what_that_year_says(bars: HourlyBars) -> None:
    begin, end = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2022, 2023))
    year = calibrate(bars.until(end), begin=begin)
    assert year.week is not None
    biases = [width.bias_points for width in year.week.widths]
    told = calibration_figures().years["2022"].week
    assert told == pytest.approx((min(biases), max(biases)), abs=0.06)


def test_buffers_are_left_early_about_as_often_as_promised(judged: Calibration) -> None:
    early = {each.width_percent: each.left_early for each in judged.buffers}
    assert all(0.03 <= (early[width] or 0) <= 0.08 for width in (3, 5, 7, 10, 15))


def test_taking_sigma_as_known_is_far_worse(bars: HourlyBars, judged: Calibration) -> None:
    known = calibrate(bars, begin=FITTED_UNTIL, scatter=0.0)
    assert known.day.ece > 2 * judged.day.ece
    assert min(each.left_early or 0 for each in known.buffers) > 0.09
