"""The path of a pool's price, and how much a price moves in a day: by the market, else by swaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.history.hours import PoolHours
from chain.prices.coingecko import CoinGecko
from chain.prices.ladder import market_closes
from chain.tokens.token import TokenClass, listed_token

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
    unread: str = ""
    """Why no price is known, where none is."""

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
        if self.unread:
            return Unknown(self.unread)
        times = self._times()
        covered = (self.until - times[0]) // HOUR if times else 0
        if covered < LEAST_COVERED * hours:
            return Unknown(f"the pool's swaps reach back {covered} of {hours} hours")
        recent = self.last(hours)
        if not recent.points:
            return Unknown(f"nobody swapped in the last {hours} hours")
        closes = tuple(step.sqrt_price_x96 for step in self.steps(HOUR, hours))
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
        PricePoint(swap.time, swap.sqrt_price_x96, 1, swap.time_estimated) for swap in hours.recent
    )
    points = (*earlier, *swaps)
    end = hours.last
    return PricePath(hours.pool_id, points, end.timestamp, end.number, hours.unread)


# All from hourly closes of the pool's own swaps; figures are fractions, 0.03 being 3 % a day.
DAY = 24
WEEK = 7 * DAY
MONTH = 30 * DAY


def realised_volatility(path: PricePath, hours: int = DAY) -> Quantity[float]:
    """Close to close: √(24 · Σr²/n), the mean taken as zero."""
    return path.closes(hours).map(lambda closes: sqrt(DAY * _mean_square(log_returns(closes))))


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


def log_returns(sqrt_prices: Sequence[int]) -> list[float]:
    """Changes of ln P between neighbours, from square roots of P."""
    return [2 * (log(after) - log(before)) for before, after in pairwise(sqrt_prices)]


def _mean_square(returns: Sequence[float]) -> float:
    return sum(change * change for change in returns) / len(returns)


# Every figure is the deviation of a day's log return, 0.03 being 3 %, from hourly closes with the
# mean taken as zero: √(24 · Σr²/n). Estimators are not mixed between the steps of the ladder.
DAY_HOURS = 24


class VolatilityStep(StrEnum):
    """The steps of the ladder, best first."""

    MARKET = "market"
    SWAPS = "swaps"
    ASSUMED = "assumed"


class PairClass(StrEnum):
    """What a pair's price is made of, as far as its two tokens' kinds tell."""

    STABLE = "stable"
    PEGGED = "pegged"
    CURRENCIES = "currencies"
    MAJORS = "majors"
    MAJOR = "major"
    OTHER = "other"


class Assumption(NamedTuple):
    daily_sigma: float
    words: str


ASSUMPTIONS = {
    PairClass.STABLE: Assumption(0.0005, "two tokens of one currency"),
    PairClass.PEGGED: Assumption(0.001, "two tokens that follow the same coin"),
    PairClass.CURRENCIES: Assumption(0.005, "euros against dollars"),
    PairClass.MAJORS: Assumption(0.02, "ether against bitcoin"),
    PairClass.MAJOR: Assumption(0.03, "ether or bitcoin against a currency"),
    PairClass.OTHER: Assumption(0.06, "a token whose market is unknown"),
}

_CURRENCIES = frozenset((TokenClass.DOLLAR, TokenClass.EURO))
_COINS = frozenset((TokenClass.ETHER, TokenClass.BITCOIN))


class Volatility(Struct, frozen=True):
    step: VolatilityStep
    daily_sigma: float
    window_hours: int
    source: str
    time: float | None
    """When the last price was made; None for an assumption, which has no age."""
    path_efficiency: float | None
    """|Net move| over the way travelled in the window; None where no path is known."""
    passed_over: tuple[str, ...]
    """Why the better steps of the ladder could not be used."""

    def age(self, now: float) -> float | None:
        return None if self.time is None else max(0.0, now - self.time)


def pair_class(kind0: TokenClass, kind1: TokenClass) -> PairClass:
    kinds = {kind0, kind1}
    if kinds <= _CURRENCIES:
        return PairClass.STABLE if len(kinds) == 1 else PairClass.CURRENCIES
    if kinds <= _COINS:
        return PairClass.PEGGED if len(kinds) == 1 else PairClass.MAJORS
    if kinds <= _COINS | _CURRENCIES:
        return PairClass.MAJOR
    return PairClass.OTHER


def class_of(network: Network, currency0: Address, currency1: Address) -> PairClass:
    """The class of a pool's two tokens; what is not listed follows nothing known."""
    if {currency0, currency1} == {NATIVE, network.wrapped_native}:
        return PairClass.PEGGED
    token0, other = listed_token(network, currency0), listed_token(network, currency1)
    return (
        PairClass.OTHER if token0 is None or other is None else pair_class(token0.kind, other.kind)
    )


async def read_volatility(
    coingecko: CoinGecko | None,
    network: Network,
    key: PoolKey,
    swaps: PricePath | None,
    *,
    hours: int = DAY_HOURS,
    now: float,
) -> Volatility:
    """How much the price of this pool's pair moves, the market asked first."""
    currency0, currency1 = key.currency0, key.currency1
    market = await market_closes(coingecko, network, currency0, currency1, hours=hours, now=now)
    return volatility(market, swaps, class_of(network, currency0, currency1), hours=hours)


def volatility(
    market: Quantity[tuple[float, ...]],
    swaps: PricePath | None,
    pair: PairClass,
    *,
    hours: int = DAY_HOURS,
) -> Volatility:
    """The best step of the ladder, given the pair's hourly market closes and the pool's path."""
    if isinstance(market, Unknown):
        passed_over = [market.reason]
    elif len(set(market.value)) == 1:
        passed_over = [f"the market did not move in {hours} hours"]
    else:
        return _by_market(market, hours)
    if swaps is None:
        passed_over.append("the pool's swaps were not read")
    else:
        realised = realised_volatility(swaps, hours)
        if isinstance(realised, Unknown):
            passed_over.append(realised.reason)
        elif realised.value == 0:
            passed_over.append(f"the pool's price did not move in {hours} hours")
        else:
            return _by_swaps(realised, swaps, hours, tuple(passed_over))
    assumed = ASSUMPTIONS[pair]
    return Volatility(
        step=VolatilityStep.ASSUMED,
        daily_sigma=assumed.daily_sigma,
        window_hours=hours,
        source=f"assumed for {assumed.words}",
        time=None,
        path_efficiency=None,
        passed_over=tuple(passed_over),
    )


def _by_market(closes: Known[tuple[float, ...]], hours: int) -> Volatility:
    returns = [log(after / before) for before, after in pairwise(closes.value)]
    return Volatility(
        step=VolatilityStep.MARKET,
        daily_sigma=sqrt(DAY_HOURS * sum(change * change for change in returns) / len(returns)),
        window_hours=hours,
        source=closes.source,
        time=closes.time,
        path_efficiency=abs(sum(returns)) / sum(map(abs, returns)),
        passed_over=(),
    )


def _by_swaps(
    realised: Known[float], swaps: PricePath, hours: int, passed_over: tuple[str, ...]
) -> Volatility:
    efficiency = path_efficiency(swaps, hours)
    return Volatility(
        step=VolatilityStep.SWAPS,
        daily_sigma=realised.value,
        window_hours=hours,
        source=realised.source,
        time=realised.time,
        path_efficiency=None if isinstance(efficiency, Unknown) else efficiency.value,
        passed_over=passed_over,
    )
