"""Ranges of ticks under a price that drifts: what they pay at least, and take at most."""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from msgspec import Struct

from chain.base.units import BIPS
from chain.math.liquidity import Amounts, amounts_for_liquidity, liquidity_for_amounts
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick

# Along a price band what a range holds is monotone, and so is the ratio of what is there to what
# a mint takes; the extremes therefore lie at the band's ends or where a range begins or ends
# inside it.
ROUNDING = 2
"""A burn rounds down and a mint up: so many units may be missing between the two."""
_BAND_SHARE = 8
"""A range this many times wider than the drift on either side keeps most of both minimums."""
_PARTS = 100
"""A stable pair's range is a few points wide."""
SLIPPAGE_BIPS = 50
"""The drift that is to be survived until a transaction is included."""

Bips = int | Fraction
"""Basis points; a range of a few ticks needs parts of one."""


class Span(Struct, frozen=True):
    """A range of ticks with the prices at its ends."""

    tick_lower: int
    tick_upper: int

    @property
    def sqrt_prices(self) -> tuple[int, int]:
        return sqrt_price_at_tick(self.tick_lower), sqrt_price_at_tick(self.tick_upper)

    @property
    def width(self) -> int:
        return self.tick_upper - self.tick_lower

    def holds(self, sqrt_price: int, liquidity: int, *, round_up: bool) -> Amounts:
        return amounts_for_liquidity(sqrt_price, *self.sqrt_prices, liquidity, round_up=round_up)


class Band(NamedTuple):
    """The square-root prices between which a transaction must still go through."""

    lowest: int
    highest: int

    def edges_inside(self, span: Span) -> tuple[int, ...]:
        return tuple(edge for edge in span.sqrt_prices if self.lowest < edge < self.highest)


def narrow_drift(bips: Bips, span: Span) -> Bips:
    """Drift no wider than a part of the range: a band as wide as it would promise nothing.

    A tick is about a basis point.
    """
    return min(bips, span.width // _BAND_SHARE or 1)


def drift_band(sqrt_price: int, bips: Bips, span: Span) -> Band:
    """The drift to survive, narrowed with the range."""
    return price_band(sqrt_price, narrow_drift(bips, span))


def price_band(sqrt_price: int, bips: Bips) -> Band:
    squared = sqrt_price * sqrt_price
    lowest = isqrt(squared * (BIPS - bips) // BIPS)
    highest = isqrt(squared * (BIPS + bips) // BIPS) + 1
    return Band(max(lowest, MIN_SQRT_PRICE), min(highest, MAX_SQRT_PRICE - 1))


def least_paid(span: Span, liquidity: int, band: Band) -> Amounts:
    """What removing the liquidity pays at least, fees aside, at any price of the band."""
    return Amounts(
        span.holds(band.highest, liquidity, round_up=False).amount0,
        span.holds(band.lowest, liquidity, round_up=False).amount1,
    )


def most_taken(span: Span, liquidity: int, band: Band) -> Amounts:
    """What adding the liquidity takes at most at any price of the band."""
    return Amounts(
        span.holds(band.lowest, liquidity, round_up=True).amount0,
        span.holds(band.highest, liquidity, round_up=True).amount1,
    )


def least_taken(span: Span, given: Amounts, band: Band) -> Amounts:
    """What a range takes at least of what it is given, at any price of the band.

    More of one token is less of the other: each is least at the end where the other is all used.
    """

    def amounts_at(price: int) -> Amounts:
        liquidity = liquidity_for_amounts(price, *span.sqrt_prices, *given)
        return span.holds(price, liquidity, round_up=True)

    return Amounts(amounts_at(band.highest).amount0, amounts_at(band.lowest).amount1)


def affordable(span: Span, sqrt_price: int, funds: Amounts) -> int:
    """The liquidity that these funds surely pay for."""
    spendable = (max(0, amount - ROUNDING) for amount in funds)
    return liquidity_for_amounts(sqrt_price, *span.sqrt_prices, *spendable)


def least_affordable(
    span: Span, sqrt_price: int, bips: Bips, funds: Callable[[int], Amounts], *others: Span
) -> int:
    """The same at whatever price of the band is worst; `others` are what the funds come from."""
    band = drift_band(sqrt_price, bips, span)
    edges = (edge for each in (span, *others) for edge in band.edges_inside(each))
    return min(affordable(span, price, funds(price)) for price in (*band, *edges))


def widest(survives: Callable[[Fraction], bool], most: Bips) -> Fraction:
    """The most drift that is survived, in hundredths of a basis point; never none."""
    survived, too_far = 1, int(most * _PARTS) + 1
    while too_far - survived > 1:
        middle = (survived + too_far) // 2
        if survives(Fraction(middle, _PARTS)):
            survived = middle
        else:
            too_far = middle
    return Fraction(survived, _PARTS)
