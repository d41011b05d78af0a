"""How the price of a pair moves: volatility by the ladder, and the regime it makes.

All figures of one pair come from one source, the market's series or the pool's swaps: a day by the
one against a week by the other would compare two ways of measuring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.lp.observe.pool_facts import figure
from agents.numbers.regime import RegimeReading, read_regime
from agents.numbers.rounding import significant
from agents.numbers.sigma import SigmaEstimate, estimate_sigma
from chain.base.quantity import Known, Quantity, Unknown
from chain.history.candle_volatility import PairClass, Volatility, VolatilityStep, volatility
from chain.history.volatility import DAY, WEEK, path_efficiency, realised_volatility
from chain.prices.pair_series import market_closes

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolKey
    from chain.history.path import PricePath
    from chain.prices.coingecko import CoinGecko


Closes = Quantity[tuple[float, ...]]


class MarketCloses(NamedTuple):
    """A pair's hourly prices outside the pool."""

    day: Closes
    week: Closes


class Movement(Struct, frozen=True):
    volatility: Volatility
    """The step of the ladder that was taken, by the last day."""
    sigma_24h: Quantity[float]
    sigma_7d: Quantity[float]
    path_efficiency: Quantity[float]
    regime: RegimeReading

    @property
    def estimate(self) -> SigmaEstimate | None:
        """By both windows of the one source; None where σ is assumed."""
        if self.assumed:
            return None
        return estimate_sigma(figure(self.sigma_24h), figure(self.sigma_7d))

    @property
    def sigma(self) -> float:
        measured = self.estimate
        if measured is None:
            return significant(self.volatility.daily_sigma)
        return significant(measured.daily_sigma)

    @property
    def assumed(self) -> bool:
        return self.volatility.step is VolatilityStep.ASSUMED

    @property
    def sigma_source(self) -> str:
        """Who said it, and over which windows; what covers the week covers its last day."""
        measured = self.estimate
        if measured is None:
            return self.volatility.source
        week = self.sigma_7d
        source = week.source if isinstance(week, Known) else self.volatility.source
        return f"{source}, {measured.windows}"

    @property
    def source(self) -> str:
        """Why no better step of the ladder was taken stands beside the one that was."""
        passed_over = self.volatility.passed_over
        return self.sigma_source + (f" ({'; '.join(passed_over)})" if passed_over else "")


async def read_market_closes(
    coingecko: CoinGecko | None, network: Network, key: PoolKey, *, now: float
) -> MarketCloses:
    """The market's own series; a reason names no token, since names are a stranger's words."""
    if coingecko is None:
        switched_off = Unknown("market data is switched off")
        return MarketCloses(switched_off, switched_off)
    day, week = [
        await market_closes(coingecko, network, key.currency0, key.currency1, hours=hours, now=now)
        for hours in (DAY, WEEK)
    ]
    return MarketCloses(_namelessly(day), _namelessly(week))


def movement(market: MarketCloses, path: PricePath, pair: PairClass) -> Movement:
    best = volatility(market.day, path, pair)
    if best.step is VolatilityStep.MARKET:
        day, week, efficiency = _by_market(best, market, pair)
    else:
        day, week = realised_volatility(path, DAY), realised_volatility(path, WEEK)
        efficiency = path_efficiency(path, DAY)
    return Movement(best, day, week, efficiency, _regime(best, day, week, efficiency))


def _by_market(
    best: Volatility, market: MarketCloses, pair: PairClass
) -> tuple[Quantity[float], Quantity[float], Quantity[float]]:
    week = volatility(market.week, None, pair, hours=WEEK)
    sigma_7d: Quantity[float] = Unknown("the market's series does not cover 7 days")
    if week.step is VolatilityStep.MARKET:
        sigma_7d = Known(week.daily_sigma, week.source, time=week.time)
    efficiency: Quantity[float] = Unknown("the market did not move")
    if best.path_efficiency is not None:
        efficiency = Known(best.path_efficiency, best.source, time=best.time)
    return Known(best.daily_sigma, best.source, time=best.time), sigma_7d, efficiency


def _regime(
    best: Volatility, day: Quantity[float], week: Quantity[float], efficiency: Quantity[float]
) -> RegimeReading:
    measured = figure(day)
    if measured is not None:
        return read_regime(measured, figure(week), figure(efficiency))
    assumed = read_regime(significant(best.daily_sigma), None, None)
    return assumed._replace(reason=f"By an assumption, nothing was measured: {assumed.reason}")


def _namelessly(closes: Closes) -> Closes:
    if isinstance(closes, Unknown):
        return Unknown("the market has no usable series for this pair")
    return closes
