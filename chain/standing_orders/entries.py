"""What compounds and moves put back to work: how much, at which prices, and what a thief gains."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

from chain.contracts.networks import NATIVE
from chain.execution.plan.protocol import StandingEntry
from chain.math.drift import Band, Span, affordable, most_taken
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.snapshot import PositionSnapshot

BAND_TICKS = 200
"""How far from the price now, about 2%, fees are put back to work."""
MOST_STEP_TICKS, MOST_TICKS = 200, 400
"""How far one order moves a range, and all that stand for a position."""
TICK_BASE = 1.0001
_STEP_OF_FEES = Fraction(1, 2)
_STEP_OF_FEES_ALONE = Fraction(4, 5)
"""The part of the fees that must go in; where the rest does not follow, more of them."""


class Shift(NamedTuple):
    """All of a range, as it is once the price is past both, put into another one."""

    least: Amounts
    """The whole principal: of one coin alone."""
    entry: StandingEntry
    sqrt_price: int
    """The price from which on it is done."""


def span_of(position: PositionSnapshot) -> Span:
    return Span(position.identity.tick_lower, position.identity.tick_upper)


def price_band(position: PositionSnapshot) -> Band:
    """Around the price now, no wider than the range: past its edge nothing changes any more."""
    lower, upper = span_of(position).sqrt_prices
    low, high = (
        sqrt_price_at_tick(position.pool.tick + ticks) for ticks in (-BAND_TICKS, BAND_TICKS)
    )
    return Band(max(low, lower), min(high, upper))


def growth(position: PositionSnapshot, fees: Amounts, *, rest: bool) -> StandingEntry:
    """A step that these fees cover with room to spare."""
    span = span_of(position)
    whole = affordable(span, position.pool.sqrt_price_x96, fees)
    step = int(whole * (_STEP_OF_FEES if rest else _STEP_OF_FEES_ALONE))
    return StandingEntry(step, most_taken(span, step, price_band(position)), rest)


def band_in(entry: StandingEntry, span: Span) -> Band:
    """The prices that the signed maxima let it be done at, read out of them."""
    lower, upper = span.sqrt_prices

    def need_at(price: int) -> Amounts:
        return span.holds(price, entry.liquidity, round_up=True)

    lowest = _first(lower, upper, lambda price: need_at(price).amount0 <= entry.most.amount0)
    highest = _first(lowest, upper, lambda price: need_at(price).amount1 > entry.most.amount1)
    return Band(lowest, highest)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Where it begins to hold, or the end."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def is_covered(entry: StandingEntry, position: PositionSnapshot) -> bool:
    """Whether the fees pay for the step, at a price that it was signed for."""
    needed = span_of(position).holds(position.pool.sqrt_price_x96, entry.liquidity, round_up=True)
    fees = position.fees0, position.fees1
    return all(
        need <= min(most, there) for need, most, there in zip(needed, entry.most, fees, strict=True)
    )


def shift(span: Span, to: Span, liquidity: int) -> Shift:
    """One coin alone goes over, and buys what liquidity it can without a swap."""
    rises = to.tick_lower > span.tick_lower
    price = to.sqrt_prices[rises]
    least = span.holds(price, liquidity, round_up=False)
    bought = liquidity_for_amounts(price, *to.sqrt_prices, *least)
    while any(
        need > there
        for need, there in zip(to.holds(price, bought, round_up=True), least, strict=True)
    ):
        bought -= 1
    return Shift(least, StandingEntry(bought, least, span=to), price)


def share_lost_by_shifts(ticks: int) -> float:
    """The most, of a position, that whoever pushes the price gains by moving it so far."""
    return float(1 - TICK_BASE**-ticks)


def share_lost_by_growth(span: Span, band: Band) -> float:
    """The most, of the fees put in, that a push within the band costs."""
    lower, upper = span.sqrt_prices

    def loss_of(fair: int, pushed: int) -> float:
        cost = fair * fair / pushed - fair * fair / upper + pushed - lower
        return (fair - pushed) ** 2 / pushed / cost

    return max(loss_of(*band), loss_of(*band[::-1]))


def entry_faults(entry: StandingEntry, least: Amounts, *, shifts: bool) -> Iterator[str]:
    """What the bytes alone show to be wrong."""
    if not entry.liquidity:
        yield "it puts nothing back to work"
    if entry.pool is not None and entry.pool.hooks != NATIVE:
        yield "its pool has a hook"
    if entry.span is not None and entry.span.width <= 0:
        yield "its range is none"
    if shifts and (entry.most != least or min(least) or not max(least)):
        yield "what it puts in is not what it takes out, of one coin"
