"""What a pool pays its liquidity providers, by its own swaps and the liquidity each of them met."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from agents.numbers.fee_interval import FeeSpread, fee_spread
from agents.numbers.fees import implied_daily_sigma
from agents.numbers.pool_edge import edge_of
from chain.base.quantity import Known, Quantity, Unknown, combine
from chain.base.units import DAY as DAY_SECONDS
from chain.history.fee_rate import daily_rates, hour_sums, last_day_rate
from chain.history.flows import FeeTerms, SwapFees, fees
from chain.history.volatility import WEEK

if TYPE_CHECKING:
    from chain.history.hours import PoolHours
    from chain.pools.state import PoolState


class Earnings(NamedTuple):
    fees_24h_usd: Quantity[float]
    """The protocol's share left out."""
    fee_rate_24h: Quantity[float]
    """What a day pays for each dollar of full-range worth, 2·L·√P, in range."""
    fee_rate_7d: Quantity[float]
    edge_7d: Quantity[float]
    """Fees of the week over what arbitrage took from everyone in range."""
    implied_sigma_24h: Quantity[float]
    implied_sigma_7d: Quantity[float]
    spread: FeeSpread


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


def earnings(hours: PoolHours, state: PoolState, prices: UnitPrices) -> Earnings:
    """By the swaps of the last day and the hours of the last week."""
    terms = FeeTerms(state.key.fee, state.protocol_fee)
    end, day = hours.last, hours.last_day()
    read = (f"{len(day)} pool swaps", end.number, float(end.timestamp))
    worth = prices.value(fees(day, terms))
    rate_24h: Quantity[float] = Known(last_day_rate(hours, terms), *read)
    if not day and state.liquidity == 0:
        rate_24h = Unknown("the pool has no active liquidity")
    week = hour_sums(hours, WEEK)
    rate_7d = week.map(lambda sums: sums.fee_rate * DAY_SECONDS / sums.seconds)
    return Earnings(
        fees_24h_usd=worth if isinstance(worth, Unknown) else Known(worth.value, *read),
        fee_rate_24h=rate_24h,
        fee_rate_7d=rate_7d,
        edge_7d=edge_of(week),
        implied_sigma_24h=rate_24h.map(implied_daily_sigma),
        implied_sigma_7d=rate_7d.map(implied_daily_sigma),
        spread=fee_spread(daily_rates(hours.rows, hours.since, end.timestamp)),
    )
