"""Ticks and square-root prices, bit for bit what v4-core's TickMath computes.

A tick t stands for the price 1.0001^t; the contracts hold √price as Q64.96.
"""

from functools import cache
from math import floor, log

MIN_TICK = -887272
MAX_TICK = 887272
MIN_SQRT_PRICE = 4295128739
MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342

MIN_TICK_SPACING = 1
MAX_TICK_SPACING = 32767

_ONE = 1 << 128
_LARGEST_WORD = (1 << 256) - 1

# 2^128 / √1.0001^(2^i), as the contract rounds them.
FACTORS = (
    0xFFFCB933BD6FAD37AA2D162D1A594001,
    0xFFF97272373D413259A46990580E213A,
    0xFFF2E50F5F656932EF12357CF3C7FDCC,
    0xFFE5CACA7E10E4E61C3624EAA0941CD0,
    0xFFCB9843D60F6159C9DB58835C926644,
    0xFF973B41FA98C081472E6896DFB254C0,
    0xFF2EA16466C96A3843EC78B326B52861,
    0xFE5DEE046A99A2A811C461F1969C3053,
    0xFCBE86C7900A88AEDCFFC83B479AA3A4,
    0xF987A7253AC413176F2B074CF7815E54,
    0xF3392B0822B70005940C7A398E4B70F3,
    0xE7159475A2C29B7443B29C7FA6E889D9,
    0xD097F3BDFD2022B8845AD8F792AA5825,
    0xA9F746462D870FDF8A65DC1F90E061E5,
    0x70D869A156D2A1B890BB3DF62BAF32F7,
    0x31BE135F97D08FD981231505542FCFA6,
    0x9AA508B5B7A84E1C677DE54F3E99BC9,
    0x5D6AF8DEDB81196699C329225EE604,
    0x2216E584F5FA1EA926041BEDFE98,
    0x48A170391F7DC42444E8FA2,
)
_LOW_BITS = 12
_LOW_MASK = (1 << _LOW_BITS) - 1

_TICKS_PER_NATURAL_LOG = 2 / log(1.0001)
_LOG_OF_ONE = 96 * log(2)

# The estimate's error is a tenth of this at most (tested at every tick), so only an estimate this
# close to a whole tick needs the exact comparison.
_ESTIMATE_MARGIN = 0.0001


class TickError(ValueError):
    """A tick or a price beyond what the contracts can hold."""


def sqrt_price_at_tick(tick: int) -> int:
    """√(1.0001^tick) · 2^96, rounded up."""
    magnitude = -tick if tick < 0 else tick
    if magnitude > MAX_TICK:
        raise TickError(f"Tick {tick} is outside ±{MAX_TICK}.")
    # The contract multiplies the bits from low to high, truncating each time, so a table of the
    # first twelve steps gives the same digits as taking them one by one.
    ratio = _low_ratios()[magnitude & _LOW_MASK]
    high = magnitude >> _LOW_BITS
    if high:
        for factor in _high_factors()[high]:
            ratio = ratio * factor >> 128
    if tick > 0:
        ratio = _LARGEST_WORD // ratio
    return (ratio + 0xFFFFFFFF) >> 32


def tick_at_sqrt_price(sqrt_price_x96: int) -> int:
    """The greatest tick whose square-root price is not above this one."""
    if not MIN_SQRT_PRICE <= sqrt_price_x96 < MAX_SQRT_PRICE:
        raise TickError(f"The square-root price {sqrt_price_x96} is outside what a pool can hold.")
    estimate = estimated_tick(sqrt_price_x96)
    nearest = round(estimate)
    if abs(estimate - nearest) > _ESTIMATE_MARGIN:
        return floor(estimate)
    return nearest if sqrt_price_at_tick(nearest) <= sqrt_price_x96 else nearest - 1


def estimated_tick(sqrt_price_x96: int) -> float:
    """The tick of a price with its fraction, off by less than 0.00001."""
    return (log(sqrt_price_x96) - _LOG_OF_ONE) * _TICKS_PER_NATURAL_LOG


def usable_ticks(spacing: int) -> tuple[int, int]:
    """The lowest and the highest tick a position of this spacing may use."""
    highest = MAX_TICK // spacing * spacing
    return -highest, highest


def nearest_usable_tick(tick: int, spacing: int) -> int:
    """The usable tick closest to this one; half-way goes up, as in Uniswap's SDK."""
    if not MIN_TICK_SPACING <= spacing <= MAX_TICK_SPACING:
        raise TickError(f"A tick spacing of {spacing} does not exist.")
    if not MIN_TICK <= tick <= MAX_TICK:
        raise TickError(f"Tick {tick} is outside ±{MAX_TICK}.")
    lowest, highest = usable_ticks(spacing)
    return min(max((2 * tick + spacing) // (2 * spacing) * spacing, lowest), highest)


@cache
def _low_ratios() -> tuple[int, ...]:
    ratios = [_ONE]
    for factor in FACTORS[:_LOW_BITS]:
        ratios += [ratio * factor >> 128 for ratio in ratios]
    return tuple(ratios)


@cache
def _high_factors() -> tuple[tuple[int, ...], ...]:
    """For each value of the bits above the table, the factors still to multiply."""
    high = FACTORS[_LOW_BITS:]
    return tuple(
        tuple(factor for bit, factor in enumerate(high) if value >> bit & 1)
        for value in range(1 << len(high))
    )
