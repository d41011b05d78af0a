"""Where the price stands in a range: its distance from both edges, in ticks."""

from math import log
from typing import NamedTuple

TICK_LOG = log(1.0001)
"""One tick is this much of natural-log price."""

_LOG_OF_ONE = 96 * log(2)


class TickRange(NamedTuple):
    """A range by its ticks; the price is inside when lower ≤ tick < upper."""

    lower: int
    upper: int

    @property
    def width(self) -> int:
        return self.upper - self.lower


class Edges(NamedTuple):
    """Ticks from the price down to the lower edge and up to the upper one.

    A distance is negative when the price is beyond that edge.
    """

    below: float
    above: float

    @property
    def inside(self) -> bool:
        return self.below > 0 and self.above > 0

    @property
    def width(self) -> float:
        return self.below + self.above


def price_tick(sqrt_price_x96: int) -> float:
    """The price as a tick with its fraction; `slot0.tick` alone would lose up to a whole tick."""
    return (log(sqrt_price_x96) - _LOG_OF_ONE) * 2 / TICK_LOG


def edges_of(price: float, ticks: TickRange) -> Edges:
    """The distances of a price, given as a tick with its fraction, from a range's edges."""
    if ticks.lower >= ticks.upper:
        raise ValueError(f"A range from tick {ticks.lower} to {ticks.upper} is empty.")
    return Edges(price - ticks.lower, ticks.upper - price)
