"""Six significant digits: what is written, what ties do, what cannot be written."""

from __future__ import annotations

from math import inf, nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.rounding import UnwritableNumberError, significant, writable

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1234567.0, "1234570.0"),
        (0.000123456789, "0.000123457"),
        (-2.7182818284, "-2.71828"),
        (1 / 3, "0.333333"),
        (2 / 3, "0.666667"),
        (999999.5, "1000000.0"),
        (1e-300, "1e-300"),
        (-0.0, "0.0"),
        (-1e-320, "-1e-320"),
        (100, "100.0"),
    ],
)
def test_what_is_written(number: float, written: str) -> None:
    assert repr(significant(number)) == written


@pytest.mark.parametrize("tie", [1.234565, 1.234575, 0.1000005, 123456.5, 1.0000005e-7])
def test_the_last_bits_of_a_tie_do_not_show(tie: float) -> None:
    """Another library of mathematics may land a few units in the last place away."""
    up, down = tie, tie
    for _ in range(4):
        up, down = nextafter(up, inf), nextafter(down, -inf)
    assert significant(up) == significant(tie) == significant(down)


@given(finite)
def test_rounding_again_changes_nothing(number: float) -> None:
    once = significant(number)
    assert significant(once) == once
    assert once == pytest.approx(number, rel=5.000001e-6, abs=1e-320)
    digits = repr(abs(once)).split("e")[0].replace(".", "").strip("0")
    assert len(digits) <= 6


@given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200))
def test_order_is_kept(left: float, right: float) -> None:
    if left <= right:
        assert significant(left) <= significant(right)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_no_payload_can_hold_is_refused(number: float) -> None:
    with pytest.raises(UnwritableNumberError):
        significant(number)


def test_unknown_and_never_are_written_as_nothing() -> None:
    assert writable(None) is None
    assert writable(inf) is None
    assert writable(1.23456789) == 1.23457
    for number in (nan, -inf):
        with pytest.raises(UnwritableNumberError):
            writable(number)
