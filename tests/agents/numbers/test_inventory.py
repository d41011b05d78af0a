"""Allocations: nothing is lost, a mint never needs more than there is, no other swap is better."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agents.numbers.edges import TickRange
from agents.numbers.inventory import (
    Allocation,
    InventoryError,
    PrepSwap,
    SwapTerms,
    allocate_for_create,
    allocate_inventory,
    terms_of,
)
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.fees import ProtocolFee
from chain.math.liquidity import (
    Amounts,
    LiquidityError,
    amounts_for_liquidity,
    liquidity_for_amounts,
)
from chain.math.sqrt_price import swap_step
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick
from chain.pools.depth import Depth
from chain.protocols.pool import PoolState

NOTHING = Amounts(0, 0)
FREE = SwapTerms(0, 0, None)

amounts = st.integers(0, 10**27)
depths = st.one_of(st.none(), st.integers(0, 10**27))
fee_pips = st.integers(0, 100_000)


@st.composite
def places(draw: st.DrawFn) -> tuple[int, TickRange]:
    """A price and a range that it may stand in, at or beside."""
    tick = draw(st.integers(-400_000, 400_000))
    lower = tick + draw(st.integers(-6_000, 600))
    upper = lower + draw(st.integers(1, 12_000))
    beyond = draw(st.integers(0, 2**40))
    return sqrt_price_at_tick(tick) + beyond, TickRange(lower, upper)


def allocated(
    sqrt_price: int, ticks: TickRange, held: Amounts, fees: Amounts, terms: SwapTerms | None
) -> Allocation:
    assume(any(held) or any(fees))
    try:
        return allocate_inventory(sqrt_price, ticks, held, fees, terms)
    except LiquidityError:
        # A sliver of a range can ask for more liquidity than uint128 holds.
        assume(False)
        raise


def after(allocation: Allocation) -> Amounts:
    swap = allocation.swap
    return swap.applied_to(allocation.available) if swap else allocation.available


@given(places(), amounts, amounts, amounts, amounts, depths, fee_pips, st.booleans())
def test_amounts_are_conserved_and_never_negative(
    place: tuple[int, TickRange],
    held0: int,
    held1: int,
    fees0: int,
    fees1: int,
    depth: int | None,
    fee: int,
    swapping: bool,
) -> None:
    terms = SwapTerms(fee, fee, depth) if swapping else None
    found = allocated(*place, Amounts(held0, held1), Amounts(fees0, fees1), terms)
    assert found.available == (held0 + fees0, held1 + fees1)
    assert min(*found.deposit, *found.residual, *found.shortfall, found.liquidity) >= 0
    held_then = after(found)
    assert found.deposit.amount0 + found.residual.amount0 == held_then.amount0
    assert found.deposit.amount1 + found.residual.amount1 == held_then.amount1
    if found.swap is None:
        assert found.shortfall == NOTHING
        assert found.available == held_then
    else:
        assert found.swap.amount_in > 0
        sold = found.available.amount0 if found.swap.zero_for_one else found.available.amount1
        assert found.swap.amount_in <= sold
        # Only the token that was bought can have been short, and the swap covers it.
        short = found.shortfall.amount1 if found.swap.zero_for_one else found.shortfall.amount0
        assert sum(found.shortfall) == short <= found.swap.amount_out


@given(places(), amounts, amounts, depths, fee_pips)
def test_the_mint_takes_what_periphery_and_pool_compute(
    place: tuple[int, TickRange], held0: int, held1: int, depth: int | None, fee: int
) -> None:
    sqrt_price, ticks = place
    held = Amounts(held0, held1)
    found = allocated(sqrt_price, ticks, held, NOTHING, SwapTerms(fee, fee, depth))
    price = found.swap.sqrt_price_after if found.swap else sqrt_price
    span = sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper)
    assert found.liquidity == liquidity_for_amounts(price, *span, *after(found))
    taken = amounts_for_liquidity(price, *span, found.liquidity, round_up=True)
    assert found.deposit == taken
    assert taken.amount0 <= after(found).amount0
    assert taken.amount1 <= after(found).amount1


@given(places(), amounts, amounts, st.integers(1, 10**27), fee_pips)
def test_the_swap_is_what_the_pool_does_without_crossing_a_tick(
    place: tuple[int, TickRange], held0: int, held1: int, depth: int, fee: int
) -> None:
    held = Amounts(held0, held1)
    found = allocated(*place, held, NOTHING, SwapTerms(fee, fee, depth))
    assume(found.swap is not None)
    assert found.swap is not None
    limit = MIN_SQRT_PRICE + 1 if found.swap.zero_for_one else MAX_SQRT_PRICE - 1
    step = swap_step(place[0], limit, depth, -found.swap.amount_in, fee)
    assert found.swap == PrepSwap(
        found.swap.zero_for_one,
        step.amount_in + step.fee,
        step.amount_out,
        fee,
        step.sqrt_price,
    )


@given(
    places(),
    st.integers(0, 10**24),
    st.integers(0, 10**24),
    st.one_of(st.none(), st.integers(10**9, 10**27)),
    fee_pips,
    st.floats(0, 1),
    st.integers(-3, 3),
)
def test_no_other_swap_buys_more_liquidity(
    place: tuple[int, TickRange],
    held0: int,
    held1: int,
    depth: int | None,
    fee: int,
    part: float,
    beside: int,
) -> None:
    sqrt_price, ticks = place
    terms = SwapTerms(fee, fee, depth)
    found = allocated(sqrt_price, ticks, Amounts(held0, held1), NOTHING, terms)
    span = sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper)
    for zero_for_one in (True, False):
        budget = held0 if zero_for_one else held1
        inputs = {int(budget * part)}
        if found.swap is not None and found.swap.zero_for_one == zero_for_one:
            inputs.add(found.swap.amount_in + beside)
        for amount_in in inputs:
            if not 0 < amount_in <= budget:
                continue
            other = swapped(sqrt_price, amount_in, terms, zero_for_one=zero_for_one)
            holding = other.applied_to(Amounts(held0, held1))
            try:
                rival = liquidity_for_amounts(other.sqrt_price_after, *span, *holding)
            except LiquidityError:
                continue
            # One unit more or less of what is bought is as finely as a swap can be cut.
            dust = unit_of_liquidity(found, sqrt_price, span) + (found.liquidity >> 20)
            assert rival <= found.liquidity + dust


def swapped(sqrt_price: int, amount_in: int, terms: SwapTerms, *, zero_for_one: bool) -> PrepSwap:
    """A swap of a given input, written out apart from the code under test."""
    fee = terms.fee(zero_for_one=zero_for_one)
    if terms.liquidity is None:
        kept = amount_in * (1_000_000 - fee) // 1_000_000
        out = kept * sqrt_price**2 // 2**192 if zero_for_one else kept * 2**192 // sqrt_price**2
        return PrepSwap(zero_for_one, amount_in, out, fee, sqrt_price)
    limit = MIN_SQRT_PRICE + 1 if zero_for_one else MAX_SQRT_PRICE - 1
    step = swap_step(sqrt_price, limit, terms.liquidity, -amount_in, fee)
    return PrepSwap(zero_for_one, step.amount_in + step.fee, step.amount_out, fee, step.sqrt_price)


def unit_of_liquidity(found: Allocation, sqrt_price: int, span: tuple[int, int]) -> int:
    """What two more units of either token would add, in liquidity."""
    price = found.swap.sqrt_price_after if found.swap else sqrt_price
    holding = after(found)
    more = Amounts(holding.amount0 + 2, holding.amount1 + 2)
    return liquidity_for_amounts(price, *span, *more) - found.liquidity + 1


@given(places(), st.integers(10**6, 10**24), st.integers(10**6, 10**24))
def test_a_free_swap_at_a_fixed_price_leaves_only_dust(
    place: tuple[int, TickRange], held0: int, held1: int
) -> None:
    sqrt_price, ticks = place
    found = allocated(sqrt_price, ticks, Amounts(held0, held1), NOTHING, FREE)
    value = held0 * sqrt_price**2 // 2**192 + held1
    left = found.residual.amount0 * sqrt_price**2 // 2**192 + found.residual.amount1
    # A unit of the dearer token, and what liquidity in whole units cannot take.
    unit = max(1, sqrt_price**2 // 2**192)
    slack = amounts_for_liquidity(
        sqrt_price,
        sqrt_price_at_tick(ticks.lower),
        sqrt_price_at_tick(ticks.upper),
        1,
        round_up=True,
    )
    coarse = slack.amount0 * sqrt_price**2 // 2**192 + slack.amount1
    assert left <= 4 * (unit + coarse) + value // 10**6


def test_an_out_of_range_position_is_put_back_around_the_price() -> None:
    """All WETH, half of it to sell: the case every naive planner refuses for its shortfall."""
    sqrt_price = sqrt_price_at_tick(-196_256)
    held = Amounts(10**18, 0)
    ticks = TickRange(-196_860, -195_660)
    found = allocate_inventory(
        sqrt_price, ticks, held, Amounts(0, 1_500_000), SwapTerms(500, 500, 10**17)
    )
    assert found.swap is not None
    assert found.swap.zero_for_one
    assert found.swap.amount_in == pytest.approx(5 * 10**17, rel=0.02)
    assert found.shortfall.amount1 > 0
    assert found.residual.amount0 < 10**10
    assert found.residual.amount1 <= 1


def test_without_terms_the_scarcer_side_decides() -> None:
    sqrt_price = sqrt_price_at_tick(0)
    held = Amounts(10**18, 5 * 10**17)
    found = allocate_inventory(sqrt_price, TickRange(-600, 600), held, NOTHING, None)
    assert found.swap is None
    assert found.deposit.amount1 == pytest.approx(5 * 10**17, rel=1e-12)
    assert found.residual.amount0 == pytest.approx(5 * 10**17, rel=1e-3)


def test_a_pool_without_depth_swaps_nothing() -> None:
    sqrt_price = sqrt_price_at_tick(0)
    found = allocate_inventory(
        sqrt_price, TickRange(-600, 600), Amounts(10**18, 10), NOTHING, SwapTerms(500, 500, 0)
    )
    assert found.swap is None


def test_the_protocol_fee_counts_in_its_own_direction() -> None:
    key = PoolKey(NATIVE, "0x" + "11" * 20, 3_000, 60, NATIVE)
    state = PoolState(key, key.pool_id, 2**96, 0, 3_000, ProtocolFee(500, 1_000), 10**18)
    depth = Depth(state, (), -887_272, 887_272)
    terms = terms_of(depth)
    assert terms == SwapTerms(3_499, 3_997, 10**18, depth)
    assert terms.fee(zero_for_one=True) == 3_499
    assert terms.fee(zero_for_one=False) == 3_997


@pytest.mark.parametrize("held", [NOTHING, Amounts(-1, 5)])
def test_nothing_and_less_than_nothing_are_refused(held: Amounts) -> None:
    with pytest.raises(InventoryError):
        allocate_inventory(2**96, TickRange(-10, 10), held, NOTHING, None)


def key(currency0: str) -> PoolKey:
    return PoolKey(currency0, "0x" + "22" * 20, 3_000, 60, NATIVE)


def test_capital_in_one_token_is_swapped_and_in_two_it_is_not() -> None:
    terms = SwapTerms(3_000, 3_000, 10**21)
    ticks = TickRange(-600, 600)
    one = allocate_for_create(key("0x" + "11" * 20), 2**96, ticks, Amounts(0, 10**18), terms)
    assert one.allocation.swap is not None
    assert not one.allocation.swap.zero_for_one
    assert not one.pays_native
    assert one.native_value == 0
    both = Amounts(10**18, 3 * 10**17)
    two = allocate_for_create(key("0x" + "11" * 20), 2**96, ticks, both, terms)
    assert two.allocation.swap is None
    assert two.allocation.deposit.plus(two.allocation.residual) == both
    assert 0.97 <= two.allocation.deposit.amount1 / both.amount1 < 1


def test_native_coin_is_flagged_with_the_value_it_needs() -> None:
    terms = SwapTerms(3_000, 3_000, 10**21)
    found = allocate_for_create(key(NATIVE), 2**96, TickRange(-600, 600), Amounts(10**18, 0), terms)
    swap = found.allocation.swap
    assert swap is not None
    assert found.pays_native
    assert found.native_value == swap.amount_in + found.allocation.deposit.amount0
    assert found.native_value + found.allocation.residual.amount0 == 10**18
    other = allocate_for_create(key(NATIVE), 2**96, TickRange(-600, 600), Amounts(0, 10**18), terms)
    assert other.pays_native
    assert other.native_value == 0
