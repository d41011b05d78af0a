"""A position's exposure to its coin, and how much of it a hedge takes away.

In range a position of liquidity L is worth V = x·P + y; its delta dV/dP is x, the coins it holds,
and its gamma is −L / (2·P^1.5). Outside its range it holds one side, and gamma is nothing.
"""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

HEDGE_RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)


class RangeExposure(Struct, frozen=True):
    """A position in whole units: liquidity of coins and dollars, prices in dollars a coin."""

    liquidity: float
    lower: float
    upper: float

    def coins(self, price: float) -> float:
        """What it holds of the coin, which is its delta."""
        root = min(max(sqrt(price), sqrt(self.lower)), sqrt(self.upper))
        return self.liquidity * (1 / root - 1 / sqrt(self.upper))

    def dollars(self, price: float) -> float:
        root = min(max(sqrt(price), sqrt(self.lower)), sqrt(self.upper))
        return self.liquidity * (root - sqrt(self.lower))

    def worth(self, price: float) -> float:
        return self.coins(price) * price + self.dollars(price)

    def gamma(self, price: float) -> float:
        if not self.lower < price < self.upper:
            return 0.0
        return -self.liquidity / (2 * price * sqrt(price))


class HedgeChange(Struct, frozen=True):
    """From what is short now to what should be, in coins."""

    held: float
    """Short of the coin now, 0 or more."""
    wanted: float

    @property
    def difference(self) -> float:
        """Above 0 more is to be sold, below 0 bought back."""
        return self.wanted - self.held

    def drift(self) -> float | None:
        """How far what is held is from what is wanted, as a share of it; None where none is."""
        return None if self.wanted == 0 else abs(self.difference) / self.wanted


def hedged_quantity(delta: float, ratio: float, step: float) -> float:
    """Coins to be short at one of the five ratios, a multiple of the venue's step, never more."""
    if ratio not in HEDGE_RATIOS:
        raise ValueError(f"{ratio} is none of the ratios {HEDGE_RATIOS}")
    return floored(max(delta, 0.0) * ratio, step)


def floored(number: float, step: float) -> float:
    """The largest multiple of the step that is not above the number."""
    steps = int(number / step + 1e-9)
    return round(steps * step, 10)


def nearest_ratio(share: float) -> float:
    return min(HEDGE_RATIOS, key=lambda ratio: (abs(ratio - share), ratio))
