"""The ladder of price sources: the market, then the pools, with reasons; a pair's hourly series."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.prices.coingecko import SOURCE, CoinGecko, PriceSeries
from chain.prices.coingecko import SOURCE as COINGECKO
from chain.prices.defillama import SOURCE as DEFILLAMA
from chain.prices.market_http import MarketError
from chain.prices.pool_prices import PoolPriceQuestion, ask_pool_prices
from chain.prices.price import DollarPrice, PriceBook, PricedTwice
from chain.read.block_reader import OneBlock, read_slots
from chain.rpc.records import BlockRef
from chain.tokens.token import TokenClass, listed_token, listed_tokens

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient

MARKETS = frozenset((COINGECKO, DEFILLAMA, f"{COINGECKO} and {DEFILLAMA}"))
"""What a price's source may be called when the market told it."""

_NO_ETHER = Unknown("no ether is listed on this network")


def ether_address(network: Network) -> Address | None:
    """The token that stands for ether here: the coin itself, or the ether bridged to here."""
    return next(
        (
            item.token.address
            for item in listed_tokens(network).tokens
            if item.kind is TokenClass.ETHER
        ),
        None,
    )


async def market_prices(
    coingecko: CoinGecko | None, network: Network, wanted: Iterable[Address]
) -> dict[Address, Quantity[Fraction]]:
    """What the market says of each token; never raises, an unreachable market is a reason.

    Where two markets answer it is their median.
    """
    asked = tuple(dict.fromkeys(wanted))
    if coingecko is None:
        return dict.fromkeys(asked, Unknown("market data is switched off"))
    if coingecko.second is None:
        return await _coingecko_prices(coingecko, network, asked)
    first, second = await asyncio.gather(
        _coingecko_prices(coingecko, network, asked),
        coingecko.second.usd_by_address(network, asked),
    )
    return {address: median_of_two(first[address], second[address]) for address in asked}


async def _coingecko_prices(
    coingecko: CoinGecko, network: Network, asked: tuple[Address, ...]
) -> dict[Address, Quantity[Fraction]]:
    coins: dict[Address, str] = {}
    contracts: list[Address] = []
    platform = listed_tokens(network).platform
    for address in asked:
        listed = listed_token(network, address)
        if listed is not None and listed.coin is not None:
            coins[address] = listed.coin
        elif platform is not None:
            contracts.append(address)
    nowhere = Unknown(f"CoinGecko does not price it on {network.title}")
    prices: dict[Address, Quantity[Fraction]] = dict.fromkeys(asked, nowhere)
    by_coin, by_contract = await asyncio.gather(
        _or_reason(coins.values(), coingecko.usd_by_coin(coins.values())),
        _or_reason(contracts, coingecko.usd_by_address(platform or "", contracts)),
    )
    prices.update({address: by_coin[coin] for address, coin in coins.items()})
    prices.update(by_contract)
    return prices


def price_book(
    network: Network,
    market: Mapping[Address, Quantity[Fraction]],
    pools: Mapping[Address, Quantity[Fraction]],
) -> PriceBook:
    """The better source of each token, with the other beside it."""
    nothing = Unknown("nobody was asked")
    prices = {
        address: price_by_ladder(market.get(address, nothing), pools.get(address, nothing))
        for address in dict.fromkeys((*market, *pools))
    }
    ether = ether_address(network)
    known = None if ether is None else prices.get(ether)
    return PriceBook(prices, _NO_ETHER if known is None else known.usd)


async def read_prices(
    client: RpcClient,
    network: Network,
    tokens: Iterable[Address],
    *,
    coingecko: CoinGecko | None,
    at: BlockRef = "latest",
    also: Iterable[PoolKey] = (),
) -> PriceBook:
    """The prices of these tokens: three requests to the chain, and the market asked meanwhile."""
    wanted = with_ether(network, tokens)
    question = ask_pool_prices(network, wanted, also)
    market, pools = await asyncio.gather(
        market_prices(coingecko, network, wanted), _pool_prices(client, question, at)
    )
    return price_book(network, market, pools)


def with_ether(network: Network, wanted: Iterable[Address]) -> tuple[Address, ...]:
    """These tokens and the one that stands for ether, so that worth can be told in it."""
    ether = ether_address(network)
    return tuple(dict.fromkeys((*wanted, *(() if ether is None else (ether,)))))


async def _pool_prices(
    client: RpcClient, question: PoolPriceQuestion, at: BlockRef
) -> dict[Address, Quantity[Fraction]]:
    here = OneBlock(client, question.network, at)
    answers = await read_slots(here, question.network, question.slots)
    return await question.read(answers.words, here, here.block)


async def _or_reason(
    names: Iterable[str], asked: Awaitable[dict[str, Quantity[Fraction]]]
) -> dict[str, Quantity[Fraction]]:
    try:
        return await asked
    except MarketError as error:
        return dict.fromkeys(names, Unknown(str(error)))


def median_of_two(one: Quantity[Fraction], other: Quantity[Fraction]) -> Quantity[Fraction]:
    """What two markets say together, or the one that says anything."""
    if isinstance(one, Unknown):
        return Unknown(f"{one.reason}; {other.reason}") if isinstance(other, Unknown) else other
    if isinstance(other, Unknown):
        return one
    times = [known.time for known in (one, other) if known.time is not None]
    return PricedTwice(
        (one.value + other.value) / 2,
        f"{one.source} and {other.source}",
        time=min(times, default=None),
        said=(one, other),
    )


def price_by_ladder(market: Quantity[Fraction], pools: Quantity[Fraction]) -> DollarPrice:
    """The market's price with the pools' beside it; the pools' where the market has none."""
    if isinstance(market, PricedTwice):
        return _of_several(market, pools)
    if isinstance(market, Unknown):
        if isinstance(pools, Unknown):
            return DollarPrice(Unknown(f"{market.reason}; {pools.reason}"), None)
        return DollarPrice(pools, None)
    return DollarPrice(market, None if isinstance(pools, Unknown) else pools)


def _of_several(market: PricedTwice, pools: Quantity[Fraction]) -> DollarPrice:
    """Where two markets disagree and the pools tell a price, the one in the middle."""
    if isinstance(pools, Unknown):
        return DollarPrice(market, market.said[1], market.said)
    said = (*market.said, pools)
    two = DollarPrice(market.said[0], market.said[1])
    if not two.is_disputed:
        return DollarPrice(market, pools, said)
    return DollarPrice(sorted(said, key=lambda one: one.value)[1], pools, said)


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
