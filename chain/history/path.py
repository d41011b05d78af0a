"""The path of a pool's price, as its swaps drew it."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.quantity import Known, Quantity, Unknown
from chain.base.units import HOUR

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolId
    from chain.history.hours import PoolHours


LEAST_COVERED = 0.9
"""A figure over some hours needs prices for this share of them, or it is unknown."""


class PricePoint(NamedTuple):
    """The pool after a swap, or at the end of an hour of swaps."""

    time: int
    sqrt_price_x96: int
    swaps: int = 1
    estimated: int = 0
    """How many of its swaps have a time that is interpolated."""


class PricePath(Struct, frozen=True):
    """Prices in the order they were reached; each holds until the next, the last until `until`."""

    pool_id: PoolId
    points: tuple[PricePoint, ...]
    until: int
    until_block: int

    @property
    def source(self) -> str:
        """What a number drawn from this path says about its origin."""
        estimated = sum(point.estimated for point in self.points)
        note = f", {estimated} times interpolated" if estimated else ""
        return f"{sum(point.swaps for point in self.points)} pool swaps{note}"

    def last(self, hours: int) -> PricePath:
        """What happened in the last so many hours."""
        start = bisect_right(self._times(), self.until - hours * HOUR)
        return replace(self, points=self.points[start:])

    def closes(self, hours: int) -> Quantity[tuple[int, ...]]:
        """The square-root prices at each full hour back from the end, oldest first.

        Where the first swap is younger than the window by a tenth at most, hours are missing.
        """
        times = self._times()
        covered = (self.until - times[0]) // HOUR if times else 0
        if covered < LEAST_COVERED * hours:
            return Unknown(f"the pool's swaps reach back {covered} of {hours} hours")
        recent = self.last(hours)
        if not recent.points:
            return Unknown(f"nobody swapped in the last {hours} hours")
        closes = tuple(one.sqrt_price_x96 for one in self.steps(HOUR, hours))
        return Known(closes, recent.source, self.until_block, float(self.until))

    def steps(self, seconds: int, count: int) -> tuple[PricePoint, ...]:
        """Where the price stood so often back from the end, oldest first, as far as it is known."""
        times = self._times()
        if not times:
            return ()
        known = min(count, (self.until - times[0]) // seconds)
        return tuple(
            PricePoint(at, self.points[bisect_right(times, at) - 1].sqrt_price_x96)
            for at in (self.until - back * seconds for back in range(known, -1, -1))
        )

    def _times(self) -> list[int]:
        return [point.time for point in self.points]


def price_path(hours: PoolHours) -> PricePath:
    """The last day swap by swap, before it the ends of the hours."""
    earlier = (
        PricePoint(row.hour + HOUR - 1, row.close, row.swaps, row.estimated)
        for row in hours.rows
        if row.hour < hours.recent_since
    )
    swaps = (
        PricePoint(one.time, one.sqrt_price_x96, 1, one.time_estimated) for one in hours.recent
    )
    return PricePath(hours.pool_id, (*earlier, *swaps), hours.last.timestamp, hours.last.number)
