"""Numbers stay exact from the keyboard to the smallest unit."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zuno_tui.prompt
from chain.base.numerals import NumeralError, read_numeral, written


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
    assert read_numeral(text).scaled(decimals) == units


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
    assert read_numeral("0.0000001").scaled(6) is None
    assert read_numeral("1.5").scaled(0) is None


@given(units=st.integers(0, 2**128), decimals=st.integers(0, 24))
def test_every_amount_survives_being_written_and_read(units: int, decimals: int) -> None:
    assert read_numeral(written(units, decimals)).scaled(decimals) == units


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

    assert read_numeral(text).scaled(24) == int(f"{whole}{fraction}") * 10 ** (
        24 - len(fraction) + power
    )


def test_no_phrase_is_read_with_floats() -> None:
    [folder] = zuno_tui.prompt.__path__
    for module in Path(folder).glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), module
            assert not (isinstance(node, ast.Name) and node.id in ("float", "Decimal")), module
            assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)), module
