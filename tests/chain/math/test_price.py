"""Prices and amounts as people read them."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.math.price import (
    ExactPrice,
    QuoteRank,
    TokenUnit,
    format_amount,
    pool_price,
    reads_inverted,
)
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick

WETH = TokenUnit("WETH", 18)
USDC = TokenUnit("USDC", 6)
PEPE = TokenUnit("PEPE", 18)


@pytest.mark.parametrize(
    ("numerator", "denominator", "text"),
    [
        (30124, 10, "3,012.4"),
        (301_238, 100, "3,012.4"),
        (1, 1, "1.0000"),
        (999_996, 100_000, "10.000"),
        (999_996, 1_000_000, "1.0000"),
        (999_994, 1_000_000, "0.99999"),
        (1234567, 1, "1,234,567"),
        (12, 10**7, "0.0000012000"),
        (123456, 10**15, "1.2346e-10"),
        (9_999_999, 10**17, "1.0000e-10"),
        (34025, 1, "34,025"),
        (34 * 10**37, 1, "3.4000e38"),
    ],
)
def test_significant_digits(numerator: int, denominator: int, text: str) -> None:
    assert ExactPrice(numerator, denominator, "A", "B").digits() == text


def test_a_price_names_its_unit() -> None:
    # 1 WETH = 3,012.4 USDC, WETH being currency0.
    sqrt_price = int((Decimal("3012.4") / 10**12).sqrt() * 2**96)
    assert str(pool_price(sqrt_price, WETH, USDC)) == "3,012.4 USDC per WETH"
    assert str(pool_price(sqrt_price, WETH, USDC, inverted=True)) == "0.00033196 WETH per USDC"


@given(st.integers(MIN_SQRT_PRICE, MAX_SQRT_PRICE), st.integers(0, 36), st.integers(0, 36))
def test_no_price_is_shown_as_zero_and_both_directions_agree(
    sqrt_price: int, decimals0: int, decimals1: int
) -> None:
    unit0, unit1 = TokenUnit("A", decimals0), TokenUnit("B", decimals1)
    with localcontext(prec=120):
        exact = Decimal(sqrt_price) ** 2 / Decimal(2) ** 192
        exact *= Decimal(10) ** (decimals0 - decimals1)
        for inverted, wanted in ((False, exact), (True, 1 / exact)):
            price = pool_price(sqrt_price, unit0, unit1, inverted=inverted)
            shown = Decimal(price.digits().replace(",", ""))
            assert abs(shown / wanted - 1) <= Decimal("0.00005000001")


def test_the_ends_of_the_full_range_still_read() -> None:
    lowest = pool_price(sqrt_price_at_tick(-887272), WETH, PEPE)
    assert str(lowest) == "2.9390e-39 PEPE per WETH"


ORDINARY, NATIVE, STABLE = QuoteRank.ORDINARY, QuoteRank.NATIVE, QuoteRank.STABLE


@pytest.mark.parametrize(
    ("price", "standing0", "standing1", "inverted"),
    [
        ((3000, 1), NATIVE, STABLE, False),
        ((1, 3000), STABLE, NATIVE, True),
        ((1, 3000), ORDINARY, STABLE, False),
        ((1, 1), STABLE, STABLE, False),
        ((101, 100), STABLE, STABLE, False),
        ((20, 1), ORDINARY, NATIVE, False),
        ((1, 20), NATIVE, ORDINARY, True),
        ((10**9, 1), NATIVE, ORDINARY, False),
        ((12, 10), ORDINARY, NATIVE, False),
        ((10, 12), NATIVE, ORDINARY, True),
        ((999, 1000), ORDINARY, ORDINARY, False),
        ((1001, 1000), ORDINARY, ORDINARY, False),
    ],
)
def test_orientation(
    price: tuple[int, int], standing0: QuoteRank, standing1: QuoteRank, inverted: bool
) -> None:
    assert reads_inverted(ExactPrice(*price, "A", "B"), standing0, standing1) is inverted


@pytest.mark.parametrize(
    ("units", "decimals", "text"),
    [
        (0, 18, "0"),
        (1, 18, "1e-18"),
        (1, 6, "0.000001"),
        (1_500_000, 6, "1.5"),
        (1_234_567_890, 6, "1,234.56"),
        (-1_234_567_890, 6, "−1,234.56"),
        (999_999_999_999, 6, "999,999"),
        (10**24, 18, "1,000,000"),
        (123_456_789 * 10**18, 18, "123,456,789"),
        (1_999_999_999, 9, "1.99999"),
        (7, 0, "7"),
        (123_456_789, 20, "1.23456e-12"),
    ],
)
def test_amounts(units: int, decimals: int, text: str) -> None:
    assert format_amount(units, decimals) == text


@given(st.integers(1, 2**256 - 1), st.integers(0, 255))
def test_an_amount_never_reads_as_zero_or_as_more_than_there_is(units: int, decimals: int) -> None:
    with localcontext(prec=400):
        shown = Decimal(format_amount(units, decimals).replace(",", ""))
        exact = Decimal(units) / Decimal(10) ** decimals
        assert 0 < shown <= exact
        assert exact - shown < exact / Decimal(10) ** 5
