"""The ladder of price sources: the market first, then the pools, else unknown with both reasons."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.units import Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.prices.coingecko import SOURCE as COINGECKO
from chain.prices.coingecko import CoinGecko
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
        address: laddered(market.get(address, nothing), pools.get(address, nothing))
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


def laddered(market: Quantity[Fraction], pools: Quantity[Fraction]) -> DollarPrice:
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
    if not two.disputed:
        return DollarPrice(market, pools, said)
    return DollarPrice(sorted(said, key=lambda one: one.value)[1], pools, said)
