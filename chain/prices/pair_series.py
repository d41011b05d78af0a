"""A pair's hourly prices on the market: one coin in dollars, or one coin in another."""

import asyncio
from bisect import bisect_right

from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.prices.coingecko import SOURCE, CoinGecko, PriceSeries
from chain.prices.market_http import MarketError
from chain.tokens.token import TokenClass, listed_token

SERIES_DAYS = 31
"""A month, and a day more so that its first hour has a price before it; still told by the hour."""
LEAST_COVERED = 0.9
"""A figure over some hours needs prices for this share of them."""
OLDEST_SECONDS = 2 * HOUR
"""A market whose last price is older than this is not the market of today."""


async def market_closes(
    coingecko: CoinGecko | None,
    network: Network,
    currency0: Address,
    currency1: Address,
    *,
    hours: int,
    now: float,
) -> Quantity[tuple[float, ...]]:
    """Prices of one token in the other at each hour back from the last, oldest first."""
    if coingecko is None:
        return Unknown("market data is switched off")
    token0, other = listed_token(network, currency0), listed_token(network, currency1)
    if token0 is None or other is None:
        return Unknown("the market of an unlisted token is not known")
    if token0.kind is other.kind and token0.kind is not TokenClass.OTHER:
        # The two series are made at different moments, and that noise is larger than the move.
        return Unknown("market data is too coarse for two tokens that follow one another")
    moving = [token for token in (token0, other) if token.kind is not TokenClass.DOLLAR]
    coins = [token.coin for token in moving if token.coin is not None]
    if len(coins) < len(moving):
        missing = " and ".join(token.token.symbol for token in moving if token.coin is None)
        return Unknown(f"{SOURCE} has no market for {missing} on {network.title}")
    try:
        series = await asyncio.gather(*(coingecko.hourly(c, days=SERIES_DAYS) for c in coins))
    except MarketError as error:
        return Unknown(str(error))
    return closes_of(series, hours=hours, now=now)


def closes_of(series: list[PriceSeries], *, hours: int, now: float) -> Quantity[tuple[float, ...]]:
    """One series as it is, or the ratio of two, at each of the last hours."""
    names = "/".join(value.coin for value in series)
    if any(not value.points for value in series):
        return Unknown(f"{SOURCE} has no prices for {names}")
    end = min(value.points[-1].time for value in series)
    if now - end > OLDEST_SECONDS:
        return Unknown(f"{SOURCE}'s last price of {names} is {(now - end) / HOUR:.1f} h old")
    covered = int((end - max(value.points[0].time for value in series)) // HOUR)
    if covered < LEAST_COVERED * hours:
        return Unknown(f"{SOURCE}'s prices of {names} reach back {covered} of {hours} hours")
    moments = [end - back * HOUR for back in range(min(hours, covered), -1, -1)]
    prices = [_at(value, moments) for value in series]
    ratio = prices[0] if len(prices) == 1 else [a / b for a, b in zip(*prices, strict=True)]
    return Known(tuple(ratio), f"{SOURCE}, {len(ratio)} hourly prices of {names}", time=end)


def _at(series: PriceSeries, moments: list[float]) -> list[float]:
    """The price that held at each moment."""
    times = [point.time for point in series.points]
    return [series.points[bisect_right(times, moment) - 1].usd for moment in moments]
