"""What ranges earn and lose along bars, many windows at once: the holding kernel.

Fees of a bar are `fees_usd` × L/(L + the pool's L) × the share of the bar in range, which is the
overlap of the range with low…high, by logarithm; a bar that never moved is in range or not. LVR is
V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁) from each hour's close to the next: finer steps would count noise
that reverts as loss. Bars longer than an hour are steps of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from agents.backtest.hours import Floats, Indices, PoolBars

MOST_AT_ONCE = 1 << 18
"""Bars that are looked at together: more would leave the processor's cache."""


class BarSeries(NamedTuple):
    """Bars as the kernel takes them."""

    log_low: Floats
    log_high: Floats
    fees_usd: Floats
    pool_liquidity: Floats
    """L in the unit in which 2L√P is an amount of token1."""


class HeldRanges(NamedTuple):
    """A range for each window; no liquidity is no position."""

    lower: Floats
    """As a logarithm of price, as is `upper`."""
    upper: Floats
    root_lower: Floats
    """As a square root of price, as is `root_upper`."""
    root_upper: Floats
    liquidity: Floats


class Tokens(NamedTuple):
    """Amounts of both tokens."""

    amount0: Floats
    amount1: Floats

    def worth(self, price: Floats) -> Floats:
        """In token1."""
        return self.amount0 * price + self.amount1


class Earned(NamedTuple):
    fees_usd: Floats
    bars_inside: Floats


def bar_series(bars: PoolBars, token1_usd: float) -> BarSeries:
    liquidity = bars.liquidity_usd / (2 * np.sqrt(bars.price) * token1_usd)
    return BarSeries(np.log(bars.low), np.log(bars.high), bars.fees_usd, liquidity)


def held_ranges(lower: Floats, upper: Floats, liquidity: Floats) -> HeldRanges:
    return HeldRanges(lower, upper, np.exp(lower / 2), np.exp(upper / 2), liquidity)


def earned(series: BarSeries, first: Indices, last: Indices, held: HeldRanges) -> Earned:
    """Fees and bars in range from each window's first bar up to, not with, its last."""
    longest = int((last - first).max(initial=0))
    rows = max(1, MOST_AT_ONCE // max(longest, 1))
    parts = [
        _earned(series, first[start : start + rows], last[start : start + rows], longest, part)
        for start in range(0, len(first), rows)
        for part in (HeldRanges(*(field[start : start + rows] for field in held)),)
    ]
    return Earned(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _earned(
    series: BarSeries, first: Indices, last: Indices, longest: int, held: HeldRanges
) -> Earned:
    bars = first[:, None] + np.arange(longest)
    absent = None
    if (last - first).min() < longest:
        absent = bars >= last[:, None]
        np.minimum(bars, len(series.fees_usd) - 1, out=bars)
    low, high = series.log_low[bars], series.log_high[bars]
    lower, upper = held.lower[:, None], held.upper[:, None]
    span = high - low
    inside = np.minimum(high, upper)
    inside -= np.maximum(low, lower)
    still = span <= 0
    if still.any():
        np.copyto(inside, (low >= lower) & (low < upper), where=still)
        span[still] = 1.0
    inside /= span
    np.maximum(inside, 0.0, out=inside)
    np.minimum(inside, 1.0, out=inside)
    own = held.liquidity[:, None]
    inside *= own > 0
    if absent is not None:
        inside[absent] = 0.0
    paid = series.pool_liquidity[bars]
    paid += own
    np.divide(own, paid, out=paid)
    paid *= series.fees_usd[bars]
    paid *= inside
    return Earned(paid.sum(axis=1), inside.sum(axis=1))


def realised_lvr(roots: Floats, held: HeldRanges) -> Floats:
    """In token1, along each row of roots of closes: Σ L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁) ≥ 0."""
    clamped = np.maximum(roots, held.root_lower[:, None])
    np.minimum(clamped, held.root_upper[:, None], out=clamped)
    before, after = clamped[:, :-1], clamped[:, 1:]
    product = before * after
    lost = roots[:, 1:] ** 2
    lost -= product
    lost *= after - before
    lost /= product
    total: Floats = held.liquidity * lost.sum(axis=1)
    return total


def tokens_of(held: HeldRanges, root_price: Floats) -> Tokens:
    """Both tokens in each range, by the root of the price."""
    root = np.minimum(np.maximum(root_price, held.root_lower), held.root_upper)
    return Tokens(
        held.liquidity * (1 / root - 1 / held.root_upper), held.liquidity * (root - held.root_lower)
    )
