"""How the price of a pair moves: volatility by the ladder, and the regime it makes.

All figures of one pair come from one source, the market's series or the pool's swaps: a day by the
one against a week by the other would compare two ways of measuring.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.lp.observe.pool_facts import figure
from agents.numbers.edges import price_tick
from agents.numbers.fees import full_range_value, implied_daily_sigma
from agents.numbers.regime import RegimeReading, read_regime
from agents.numbers.rounding import significant
from agents.numbers.sigma import SigmaEstimate, estimate_sigma
from chain.base.quantity import Known, Quantity, Unknown, combine
from chain.base.units import HOUR
from chain.history.candle_volatility import PairClass, Volatility, VolatilityStep, volatility
from chain.history.flows import FeeTerms, SwapFees, fees
from chain.history.path import LEAST_COVERED
from chain.history.volatility import DAY, WEEK, path_efficiency, realised_volatility
from chain.prices.pair_series import market_closes

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolKey
    from chain.history.path import PricePath
    from chain.history.swaps import SwapHistory
    from chain.pools.state import PoolState
    from chain.prices.coingecko import CoinGecko


class Earnings(NamedTuple):
    fees_24h_usd: Quantity[float]
    """The protocol's share left out."""
    implied_sigma_24h: Quantity[float]
    implied_sigma_7d: Quantity[float]


class UnitPrices(NamedTuple):
    """Dollars for the smallest unit of each currency."""

    unit0: Quantity[Fraction]
    unit1: Quantity[Fraction]

    def value(self, paid: SwapFees) -> Quantity[float]:
        """The worth of what providers were paid; a currency of which nothing came needs no price.

        Which of the prices is missing is told where the tokens are.
        """
        nothing = Known(Fraction(0), "nothing paid")
        in0 = self.unit0.map(lambda each: each * paid.providers0) if paid.providers0 else nothing
        in1 = self.unit1.map(lambda each: each * paid.providers1) if paid.providers1 else nothing
        total = combine(lambda one, other: float(one + other), in0, in1)
        return _UNPRICED if isinstance(total, Unknown) else total


_UNPRICED = Unknown("a token's price is unknown")


def earnings(history: SwapHistory, state: PoolState, prices: UnitPrices) -> Earnings:
    """By the swaps of the last day and week, at the liquidity that is active now."""
    day_fees = _paid(history, DAY, state, prices)
    week_fees = _a_day(_paid(history, WEEK, state, prices), history)
    return Earnings(
        fees_24h_usd=day_fees,
        implied_sigma_24h=_implied(day_fees, state, prices.unit1),
        implied_sigma_7d=_implied(week_fees, state, prices.unit1),
    )


def _paid(
    history: SwapHistory, hours: int, state: PoolState, prices: UnitPrices
) -> Quantity[float]:
    """What all providers together were paid in the last so many hours."""
    end = history.last
    swaps = [timed.swap for timed in history.swaps if timed.time > end.timestamp - hours * HOUR]
    worth = prices.value(fees(swaps, FeeTerms(state.key.fee, state.protocol_fee)))
    if isinstance(worth, Unknown):
        return worth
    return Known(worth.value, f"{len(swaps)} pool swaps", end.number, float(end.timestamp))


def _a_day(week: Quantity[float], history: SwapHistory) -> Quantity[float]:
    """A day's part of a week's fees, by the hours that the pool's swaps cover."""
    longest = WEEK * HOUR
    known = history.last.timestamp - history.swaps[0].time if history.swaps else 0
    if known < LEAST_COVERED * longest:
        return Unknown(f"the pool's swaps reach back {known // HOUR} of {WEEK} hours")
    return week.map(lambda usd: usd * DAY * HOUR / min(known, longest))


def _implied(
    paid_a_day: Quantity[float], state: PoolState, unit1: Quantity[Fraction]
) -> Quantity[float]:
    if isinstance(paid_a_day, Unknown):
        return paid_a_day
    each, usd = figure(unit1), figure(paid_a_day)
    if each is None or usd is None:
        return _UNPRICED
    worth = full_range_value(state.liquidity, price_tick(state.sqrt_price_x96), each)
    implied = implied_daily_sigma(usd, worth)
    if implied is None:
        return Unknown("the pool has no active liquidity")
    return Known(implied, f"{paid_a_day.source} and active liquidity", paid_a_day.block)


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
