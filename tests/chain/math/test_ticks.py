"""Ticks, prices, liquidity and fees by the contracts' own integers."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chain.base.units import PIPS
from chain.math.fees import ProtocolFee, protocol_fee_within, swap_fee, unpack_protocol_fee
from chain.math.liquidity import (
    Amounts,
    LiquidityError,
    amounts_for_liquidity,
    liquidity_for_amounts,
)
from chain.math.price import (
    ExactPrice,
    QuoteRank,
    TokenUnit,
    format_amount,
    pool_price,
    reads_inverted,
)
from chain.math.ticks import (
    MAX_SQRT_PRICE,
    MAX_TICK,
    MIN_SQRT_PRICE,
    MIN_TICK,
    TickError,
    nearest_usable_tick,
    sqrt_price_at_tick,
    tick_at_sqrt_price,
    usable_ticks,
)

KNOWN = {
    -887272: 4295128739,
    -887271: 4295343490,
    0: 2**96,
    887271: 1461373636630004318706518188784493106690254656249,
    887272: 1461446703485210103287273052203988822378723970342,
    # A table that starts from 2^128 − 1 is wrong first at these.
    230536: 8028879374562859404746102907483260,
    262144: 38992368544603139932233054999993536,
    294762: 199175114288266715987152048488552020,
    524288: 19190206568837448476620805525116361302670,
}


@pytest.mark.parametrize(("tick", "sqrt_price"), KNOWN.items())
def test_known_prices(tick: int, sqrt_price: int) -> None:
    assert sqrt_price_at_tick(tick) == sqrt_price


@given(st.integers(MIN_TICK, MAX_TICK - 1))
def test_a_tick_owns_every_price_up_to_the_next(tick: int) -> None:
    lowest, next_lowest = sqrt_price_at_tick(tick), sqrt_price_at_tick(tick + 1)
    assert lowest < next_lowest
    assert tick_at_sqrt_price(lowest) == tick
    assert tick_at_sqrt_price((lowest + next_lowest) // 2) == tick
    assert tick_at_sqrt_price(next_lowest - 1) == tick


@given(st.integers(MIN_SQRT_PRICE, MAX_SQRT_PRICE - 1))
def test_every_price_lies_in_its_tick(sqrt_price: int) -> None:
    tick = tick_at_sqrt_price(sqrt_price)
    assert sqrt_price_at_tick(tick) <= sqrt_price < sqrt_price_at_tick(tick + 1)


@pytest.mark.parametrize("tick", [MIN_TICK - 1, MAX_TICK + 1, 2**23])
def test_ticks_beyond_the_range_are_refused(tick: int) -> None:
    with pytest.raises(TickError):
        sqrt_price_at_tick(tick)
    with pytest.raises(TickError):
        nearest_usable_tick(tick, 1)


@pytest.mark.parametrize("sqrt_price", [0, MIN_SQRT_PRICE - 1, MAX_SQRT_PRICE, 2**160])
def test_prices_beyond_the_range_are_refused(sqrt_price: int) -> None:
    with pytest.raises(TickError):
        tick_at_sqrt_price(sqrt_price)


@pytest.mark.parametrize(
    ("tick", "spacing", "expected"),
    [
        (5, 10, 10),
        (15, 10, 20),
        (25, 10, 30),
        (-5, 10, 0),
        (-15, 10, -10),
        (-6, 10, -10),
        (4, 10, 0),
        (30, 60, 60),
        (-30, 60, 0),
        (MIN_TICK, 60, -887220),
        (MAX_TICK, 60, 887220),
        (MAX_TICK, 200, 887200),
        (MIN_TICK, 32767, -27 * 32767),
    ],
)
def test_half_way_goes_up(tick: int, spacing: int, expected: int) -> None:
    assert nearest_usable_tick(tick, spacing) == expected


@given(st.integers(MIN_TICK, MAX_TICK), st.integers(1, 32767))
def test_the_nearest_usable_tick_is_usable_and_nearest(tick: int, spacing: int) -> None:
    lowest, highest = usable_ticks(spacing)
    found = nearest_usable_tick(tick, spacing)
    assert found % spacing == 0
    assert MIN_TICK <= lowest <= found <= highest <= MAX_TICK
    for other in (found - spacing, found + spacing):
        assert abs(found - tick) <= abs(other - tick) or not lowest <= other <= highest


@pytest.mark.parametrize("spacing", [0, -1, 32768])
def test_spacings_that_do_not_exist_are_refused(spacing: int) -> None:
    with pytest.raises(TickError):
        nearest_usable_tick(0, spacing)


all_ticks = st.integers(MIN_TICK, MAX_TICK)
near_ticks = st.integers(-200_000, 200_000)
liquidities = st.integers(1, 2**100)


@given(all_ticks, all_ticks, all_ticks, liquidities)
def test_a_burn_pays_at_most_what_the_mint_took(
    tick: int, one: int, other: int, liquidity: int
) -> None:
    assume(one != other)
    lower, upper = sorted((sqrt_price_at_tick(one), sqrt_price_at_tick(other)))
    price = sqrt_price_at_tick(tick)
    paid = amounts_for_liquidity(price, lower, upper, liquidity, round_up=True)
    back = amounts_for_liquidity(price, lower, upper, liquidity, round_up=False)
    assert 0 <= paid.amount0 - back.amount0 <= 2
    assert 0 <= paid.amount1 - back.amount1 <= 1
    if price <= lower:
        assert paid.amount1 == 0
    if price >= upper:
        assert paid.amount0 == 0


@given(near_ticks, near_ticks, near_ticks, st.integers(0, 2**96), st.integers(0, 2**96))
def test_bought_liquidity_never_costs_more_than_the_amounts(
    tick: int, one: int, other: int, amount0: int, amount1: int
) -> None:
    assume(one != other)
    lower, upper = sorted((sqrt_price_at_tick(one), sqrt_price_at_tick(other)))
    price = sqrt_price_at_tick(tick)
    try:
        liquidity = liquidity_for_amounts(price, lower, upper, amount0, amount1)
    except LiquidityError:
        return
    needed = amounts_for_liquidity(price, lower, upper, liquidity, round_up=True)
    assert needed.amount0 <= amount0
    assert needed.amount1 <= amount1


def test_a_worked_range() -> None:
    lower, upper = sqrt_price_at_tick(-600), sqrt_price_at_tick(600)
    liquidity = liquidity_for_amounts(2**96, lower, upper, 10**18, 10**18)
    # L = 1 / (1 − 1.0001^−300) by the white paper, for one whole token each side of par.
    assert liquidity / 10**18 == pytest.approx(1 / (1 - 1.0001**-300), rel=1e-12)
    assert amounts_for_liquidity(2**96, lower, upper, liquidity, round_up=True) == Amounts(
        10**18, 10**18
    )


def test_what_no_pool_can_hold_is_refused() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1)
    with pytest.raises(LiquidityError):
        liquidity_for_amounts(low, low, high, 2**127, 0)
    with pytest.raises(LiquidityError):
        liquidity_for_amounts(low, high, low, 1, 1)


lp_fees = st.integers(0, PIPS)
protocol_fees = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("protocol", "lp", "total"),
    [(0, 3000, 3000), (1000, 3000, 3997), (50, 500, 550), (1000, PIPS, PIPS), (1000, 0, 1000)],
)
def test_the_protocol_takes_first(protocol: int, lp: int, total: int) -> None:
    assert swap_fee(protocol, lp) == total


def test_each_direction_has_its_own_protocol_fee() -> None:
    fee = unpack_protocol_fee(1000 << 12 | 250)
    assert fee == ProtocolFee(zero_for_one=250, one_for_zero=1000)
    assert fee.towards(zero_for_one=True) == 250
    assert fee.towards(zero_for_one=False) == 1000


@given(protocol_fees, lp_fees)
def test_the_protocol_fee_can_be_told_from_the_total(protocol: int, lp: int) -> None:
    total = swap_fee(protocol, lp)
    found = protocol_fee_within(total, lp)
    assert found is not None
    assert swap_fee(found, lp) == total
    if lp <= PIPS // 10:
        assert abs(found - protocol) <= 1


@pytest.mark.parametrize(("total", "lp"), [(2999, 3000), (0, 1), (999_999, PIPS)])
def test_a_total_below_the_lp_fee_has_no_protocol_fee(total: int, lp: int) -> None:
    assert protocol_fee_within(total, lp) is None


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
