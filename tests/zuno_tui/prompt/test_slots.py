"""What a sentence names; numbers stay exact from the keyboard to the smallest unit."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zuno_tui.prompt
from chain.base.units import NumeralError, read_numeral, write_amount
from chain.protocols.reference import v4_position
from tools.phrase_report import DESK
from zuno_tui.prompt.figures import two_prices
from zuno_tui.prompt.positions import positions_meant
from zuno_tui.prompt.slots import read_sentence


@pytest.mark.parametrize(
    ("text", "decimals", "units"),
    [
        ("0.5", 18, 5 * 10**17),
        (".5", 6, 500_000),
        ("1,000", 6, 10**9),
        ("12,345,678.25", 2, 1_234_567_825),
        ("1000000", 0, 1_000_000),
        ("1k", 6, 10**9),
        ("2.5m", 6, 25 * 10**11),
        ("1.5K", 0, 1500),
        ("0.0000015m", 1, 15),
        ("1.500000000", 6, 1_500_000),
        ("0.000001", 6, 1),
        ("007", 0, 7),
        ("-5", 6, -5_000_000),
        # As a float this is another number.
        ("123456789.123456789123456789", 18, 123456789123456789123456789),
    ],
)
def test_a_number_becomes_units(text: str, decimals: int, units: int) -> None:
    assert read_numeral(text).scale(decimals) == units


@pytest.mark.parametrize(
    "text",
    [
        *("1.000,5", "1,5", "0,05", "0,500", "1,00", "1,0000", "1,000,00", "1000,000", "1.000.000"),
        *("1_000", "1,000.5,5", "", ".", "k", "-", "1e5", "٣", "1kk", "1.,5"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(NumeralError, match="commas group thousands"):
        read_numeral(text)


def test_what_is_finer_than_the_smallest_unit_is_no_amount() -> None:
    assert read_numeral("0.0000001").scale(6) is None
    assert read_numeral("1.5").scale(0) is None


@given(units=st.integers(0, 2**128), decimals=st.integers(0, 24))
def test_every_amount_survives_being_written_and_read(units: int, decimals: int) -> None:
    assert read_numeral(write_amount(units, decimals)).scale(decimals) == units


@given(
    whole=st.integers(0, 10**30),
    fraction=st.text("0123456789", min_size=1, max_size=24),
    scale=st.sampled_from([("", 0), ("k", 3), ("K", 3), ("m", 6), ("M", 6)]),
    grouped=st.booleans(),
)
def test_digits_move_and_never_change(
    whole: int, fraction: str, scale: tuple[str, int], *, grouped: bool
) -> None:
    letter, power = scale
    text = f"{whole:,}.{fraction}{letter}" if grouped else f"{whole}.{fraction}{letter}"

    assert read_numeral(text).scale(24) == int(f"{whole}{fraction}") * 10 ** (
        24 - len(fraction) + power
    )


def test_no_phrase_is_read_with_floats() -> None:
    [folder] = zuno_tui.prompt.__path__
    for module in Path(folder).glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), module
            assert not (isinstance(node, ast.Name) and node.id in ("float", "Decimal")), module
            assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)), module


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("close 27", (27,)),
        ("show #99 and 30", (99, 30)),
        ("26,37 please", (26, 37)),
        ("thirty five", (35,)),
        ("27's range", (27,)),
        ("add 30 usdc", ()),
        ("mute for 30 min", ()),
        ("30%", ()),
    ],
)
def test_positions_by_number(text: str, ids: tuple[int, ...]) -> None:
    assert read_sentence(text, DESK).ids == tuple(map(v4_position, ids))


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("0.7weth", [("0.7", "WETH")]),
        ("2.5k usdc and 1 btc", [("2500", "USDC"), ("1", "BTC")]),
        ("5 grand usdt", [("5000", "USDT")]),
        ("half an eth", [("0.5", "ETH")]),
        ("1000 worth of usdc", [("1000", "USDC")]),
        ("0.123456789012345678 weth", [("0.123456789012345678", "WETH")]),
        ("$500", []),
        ("two weth/usdc positions", []),
    ],
)
def test_amounts_stay_exact(text: str, amounts: list[tuple[str, str]]) -> None:
    assert list(read_sentence(text, DESK).amounts) == amounts


@pytest.mark.parametrize(
    ("text", "percents"),
    [("25%", [25]), ("12 percent", [12]), ("half", [50]), ("1/3", [33]), ("1000 bps", [10])],
)
def test_parts_in_percent(text: str, percents: list[int]) -> None:
    assert [percent.value for percent in read_sentence(text, DESK).percents] == percents


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("2900-3300", (2900, 3300)),
        ("2.8-3.4k", (2800, 3400)),
        ("between 2.9k and 3.3k", (2900, 3300)),
        ("min 2800 max 3400", (2800, 3400)),
        ("3300 2900", (2900, 3300)),
        ("2900", None),
    ],
)
def test_two_prices(text: str, prices: tuple[int, int] | None) -> None:
    expected = None if prices is None else tuple(map(Fraction, prices))

    assert two_prices(read_sentence(text, DESK)) == expected


def test_times_fees_profiles_and_networks() -> None:
    assert read_sentence("for 2 hours", DESK).seconds == 7_200
    assert read_sentence("for 30m", DESK).seconds == 1_800
    assert read_sentence("the 0.05% pool", DESK).fee == Fraction(5, 100)
    assert read_sentence("the weth 30bps one", DESK).fee == Fraction(3, 10)
    assert read_sentence("low risk", DESK).profile == "conservative"
    assert read_sentence("nothing risky", DESK).profile == "conservative"
    assert read_sentence("on base sepolia", DESK).network == "base-sepolia"


@pytest.mark.parametrize(
    ("text", "ids", "sure"),
    [
        ("the out of range ones", (30, 36), True),
        ("the out of range one", (30, 36), False),
        ("my stable pair", (29,), True),
        ("the btc/eth one", (37,), True),
        ("my biggest position", (29,), True),
        ("the dynamic one", (34,), True),
        ("26 or 27", (26, 27), False),
        ("all but the stable one", (26, 27, 30, 31, 33, 34, 35, 36, 37, 38), True),
        ("it", (30,), True),
    ],
)
def test_positions_by_what_they_are(text: str, ids: tuple[int, ...], *, sure: bool) -> None:
    meant = positions_meant(read_sentence(text, DESK), DESK)

    assert (meant.ids, meant.sure) == (tuple(map(v4_position, ids)), sure)
