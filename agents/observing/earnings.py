"""What a pool paid its liquidity providers, and the volatility that this pays for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from agents.numbers.edges import price_tick
from agents.numbers.fees import full_range_value, implied_daily_sigma
from agents.observing.figures import figure
from chain.history.flows import FeeTerms, SwapFees, fees
from chain.history.path import HOUR, LEAST_COVERED
from chain.history.volatility import DAY, WEEK
from chain.quantity import Known, Quantity, Unknown, combine

if TYPE_CHECKING:
    from chain.history.swaps import SwapHistory
    from chain.pools.state import PoolState


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
