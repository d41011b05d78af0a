from fractions import Fraction

import pytest

from chain.base.units import Known, Unknown, age_text
from chain.contracts.networks import network_named
from chain.prices.price import WorthUnit
from chain.tokens import unlisted_token
from zuno_tui.present.charts import WIDTH, range_gauge
from zuno_tui.present.words import (
    fee_text,
    four_digits,
    money,
    most_coin,
    number,
    percent,
    short_gain,
    short_interval,
    signed_amount,
    signed_money,
    worth,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0.0, "0"),
        (0.00004053, "0.00004053"),
        (0.5, "0.5"),
        (1.54571, "1.546"),
        (999.96, "1000"),
        (4_789.72, "4,790"),
    ],
)
def test_four_digits_are_written_without_an_exponent(size: float, text: str) -> None:
    assert four_digits(size) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (Fraction(1204501, 1000), WorthUnit.USD, "$1,204.50"),
        (Fraction(0), WorthUnit.USD, "$0.00"),
        (Fraction(3, 10_000), WorthUnit.USD, "$0.000300"),
        (Fraction(-5, 2), WorthUnit.USD, "−$2.50"),
        (Fraction(1, 3), WorthUnit.ETH, "0.333333 ETH"),
        (Fraction(25, 2), WorthUnit.ETH, "12.5000 ETH"),
    ],
)
def test_money(value: Fraction, unit: WorthUnit, text: str) -> None:
    assert money(value, unit) == text


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (2_712_400_000_000_001, "0.002713"),
        (282_600_000_000_000, "0.0002826"),
        (1_234_567 * 10**15, "1,235"),
        (0, "0"),
    ],
)
def test_a_bound_in_the_networks_coin_is_rounded_up(wei: int, text: str) -> None:
    assert most_coin(wei) == text


def test_what_is_unknown_is_said_so_and_is_null_for_programs() -> None:
    assert worth(Unknown("no pool"), WorthUnit.USD) == "unknown"
    assert number(Unknown("no pool")) is None
    assert signed_money(Known(Fraction(2), "test"), WorthUnit.USD) == "+$2.00"


def test_parts_of_a_cent_take_no_more_room_in_a_column_than_cents() -> None:
    gains = [Fraction(2937, 10**6), Fraction(-1, 10**6), Fraction(0), Fraction(1, 100)]
    assert [short_gain(Known(gain, "test"), WorthUnit.USD) for gain in gains] == [
        "$0.00",
        "$0.00",
        "$0.00",
        "+$0.01",
    ]
    assert short_gain(Known(Fraction(1, 1000), "test"), WorthUnit.ETH) == "+0.001000 ETH"
    assert short_gain(Unknown("no pool"), WorthUnit.USD) == "unknown"


def test_what_came_and_what_left_have_signs_and_nothing_has_none() -> None:
    token = unlisted_token(network_named("devnet"), "0x" + "11" * 20, b"", 18)
    amounts = (25 * 10**17, -(10**18), 0)
    assert [signed_amount(amount, token) for amount in amounts] == ["+2.5", "−1", "0"]


def test_fees_and_parts() -> None:
    assert [fee_text(pips) for pips in (500, 3000, 10_000, 1, 1_000_000)] == [
        "0.05%",
        "0.3%",
        "1%",
        "0.0001%",
        "100%",
    ]
    assert percent(Fraction(1, 100_000)) == "<0.01%"
    assert percent(0.1234) == "12.3%"
    assert [age_text(seconds) for seconds in (59, 300, 90_000, 600_000)] == [
        "59 s",
        "5 min",
        "25 h",
        "6 d",
    ]


def test_the_gauge_keeps_its_width_and_shows_which_side_the_price_left_on() -> None:
    gauges = [range_gauge(part) for part in (-0.5, 0.0, 0.5, 0.999, 1.0, 3.0)]

    assert {len(gauge) for gauge in gauges} == {WIDTH}
    assert gauges[0].startswith("● ├")
    assert gauges[1].startswith("  ├●")
    assert gauges[3].endswith("●┤  ")
    assert gauges[4].endswith("┤ ●")
    assert range_gauge(0.5, ascii_only=True).isascii()


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (3.31, 11.8, "$3.3 to 12"),
        (-278.44, -163.0, "−$278 to −163"),
        (-2.06, 47.7, "−$2.1 to 48"),
        (0.0, 0.42, "$0.00 to 0.42"),
        (12_345.0, 250_000.0, "$12k to 250k"),
    ],
)
def test_an_interval_fits_a_column(low: float, high: float, words: str) -> None:
    assert short_interval(low, high) == words
