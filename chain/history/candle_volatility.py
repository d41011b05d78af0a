"""How much a pair's price moves in a day: by the market, else by the pool's swaps, else assumed.

Every figure is the deviation of a day's log return, 0.03 being 3 %, from hourly closes with the
mean taken as zero: √(24 · Σr²/n). Estimators are not mixed between the steps of the ladder.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts.networks import NATIVE, Address, Network
from chain.history.volatility import path_efficiency, realised_volatility
from chain.prices.pair_series import market_closes
from chain.tokens.listed import TokenClass, listed_token

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolKey
    from chain.history.path import PricePath
    from chain.prices.coingecko import CoinGecko

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
    one, other = listed_token(network, currency0), listed_token(network, currency1)
    return PairClass.OTHER if one is None or other is None else pair_class(one.kind, other.kind)


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
