"""What tokens were worth at past times by CoinGecko, which tells it to those who have a key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import TYPE_CHECKING

from chain.base.quantity import Known, Quantity, Unknown
from chain.base.units import DAY
from chain.prices.coingecko import SOURCE, CoinGecko, MarketPoint
from chain.prices.market_http import MarketError
from chain.prices.market_values import PAST_SECONDS
from chain.tokens.listed import listed_token, listed_tokens

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network

HOURLY_DAYS = 90
"""Of so many days at once CoinGecko tells a price an hour; of more, one a day."""
MOST_REQUESTS = 60
"""For one history: what a free key is worth in two minutes."""

_NO_PRICE = Unknown(f"{SOURCE} has no price for it within an hour of then")
_NOT_ASKED = Unknown(f"{SOURCE} was asked about other times first")


async def coingecko_prices_at(
    coingecko: CoinGecko,
    network: Network,
    addresses: Collection[Address],
    moments: Iterable[int],
) -> dict[int, dict[Address, Quantity[Fraction]]]:
    """By moment: dollars for one of each token then; never raises, and asks nobody without a key.

    A part of a year is one request a token, whatever happened in it.
    """
    wanted = sorted(set(moments))
    found: dict[int, dict[Address, Quantity[Fraction]]] = {moment: {} for moment in wanted}
    if not coingecko.has_key:
        return found
    for moment in wanted:
        found[moment] = dict.fromkeys(addresses, _NOT_ASKED)
    # The newest first: a free key is told the last year alone.
    questions = product(reversed(windows(wanted)), addresses)
    for window, address in islice(questions, MOST_REQUESTS):
        prices = await _prices(coingecko, network, address, window)
        for moment, price in zip(window, prices, strict=True):
            found[moment][address] = price
    return found


def windows(moments: Sequence[int]) -> list[list[int]]:
    """The moments, in order, in groups short enough for hourly prices."""
    widest = HOURLY_DAYS * DAY - 2 * PAST_SECONDS
    groups: list[list[int]] = []
    for moment in moments:
        if groups and moment - groups[-1][0] <= widest:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    return groups


async def _prices(
    coingecko: CoinGecko, network: Network, address: Address, window: Sequence[int]
) -> list[Quantity[Fraction]]:
    name = _name(network, address)
    if name is None:
        return [Unknown(f"{SOURCE} does not price it on {network.title}")] * len(window)
    try:
        series = await coingecko.between(name, window[0] - PAST_SECONDS, window[-1] + PAST_SECONDS)
    except MarketError as error:
        return [Unknown(str(error))] * len(window)
    return [_nearest(series.points, moment) for moment in window]


def _name(network: Network, address: Address) -> str | None:
    """How CoinGecko's paths name a token: by its coin, or by its contract."""
    listed, platform = listed_token(network, address), listed_tokens(network).platform
    if listed is not None and listed.coin is not None:
        return listed.coin
    return None if platform is None else f"{platform}/contract/{address}"


def _nearest(points: Sequence[MarketPoint], moment: int) -> Quantity[Fraction]:
    after = bisect_left(points, float(moment), key=lambda one: one.time)
    beside = points[max(0, after - 1) : after + 1]
    nearest = min(beside, key=lambda one: abs(one.time - moment), default=None)
    if nearest is None or abs(nearest.time - moment) > PAST_SECONDS:
        return _NO_PRICE
    return Known(Fraction(repr(nearest.usd)), SOURCE, time=nearest.time)
