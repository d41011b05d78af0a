"""How much a price moved: realised volatility per day, and how straight its way was.

All from hourly closes of the pool's own swaps; figures are fractions, 0.03 being 3 % a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from chain.base.quantity import Quantity, Unknown

if TYPE_CHECKING:
    from chain.history.path import PricePath

DAY = 24
WEEK = 7 * DAY


class Extremes(NamedTuple):
    low_sqrt_price_x96: int
    high_sqrt_price_x96: int


def realised_volatility(path: PricePath, hours: int = DAY) -> Quantity[float]:
    """Close to close: √(24 · Σr²/n), the mean taken as zero."""
    return path.closes(hours).map(lambda closes: _daily(_mean_square(log_returns(closes))))


def path_efficiency(path: PricePath, hours: int = DAY) -> Quantity[float]:
    """|Net move| over the way travelled: one for a straight line, near zero for a walk in place."""
    closes = path.closes(hours)
    if isinstance(closes, Unknown):
        return closes
    returns = log_returns(closes.value)
    travelled = sum(map(abs, returns))
    if travelled == 0:
        return Unknown(f"the price did not move in the last {hours} hours")
    return closes.map(lambda _: abs(sum(returns)) / travelled)


def extremes(path: PricePath, hours: int = DAY) -> Quantity[Extremes]:
    """The lowest and the highest price of the last so many hours, whatever the swap."""
    closes = path.closes(hours)
    if isinstance(closes, Unknown):
        return closes
    # The price at the start of the window held into it, though its swap is older.
    seen = [closes.value[0], *(point.sqrt_price_x96 for point in path.last(hours).points)]
    return closes.map(lambda _: Extremes(min(seen), max(seen)))


def log_returns(sqrt_prices: Sequence[int]) -> list[float]:
    """Changes of ln P between neighbours, from square roots of P."""
    return [2 * (log(after) - log(before)) for before, after in pairwise(sqrt_prices)]


def _mean_square(returns: Sequence[float]) -> float:
    return sum(change * change for change in returns) / len(returns)


def _daily(hourly_variance: float) -> float:
    return sqrt(DAY * hourly_variance)
