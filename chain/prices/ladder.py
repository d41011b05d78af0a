"""The ladder of price sources: the market first, then the pools, else unknown with both reasons."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.base.quantity import Quantity, Unknown
from chain.prices.market_http import MarketError
from chain.prices.pool_prices import ask_pool_prices
from chain.prices.price import DollarPrice, PriceBook
from chain.read.block_reader import OneBlock
from chain.read.storage_words import read_slots
from chain.tokens.listed import TokenClass, listed_token, listed_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping
    from fractions import Fraction

    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolKey
    from chain.prices.coingecko import CoinGecko
    from chain.prices.pool_prices import PoolPriceQuestion
    from chain.rpc.client import RpcClient
    from chain.rpc.records import BlockRef

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
    """What the market says of each token; never raises, an unreachable market is a reason."""
    asked = tuple(dict.fromkeys(wanted))
    if coingecko is None:
        return dict.fromkeys(asked, Unknown("market data is switched off"))
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
        address: _laddered(market.get(address, nothing), pools.get(address, nothing))
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


def _laddered(market: Quantity[Fraction], pools: Quantity[Fraction]) -> DollarPrice:
    if isinstance(market, Unknown):
        if isinstance(pools, Unknown):
            return DollarPrice(Unknown(f"{market.reason}; {pools.reason}"), None)
        return DollarPrice(pools, None)
    return DollarPrice(market, None if isinstance(pools, Unknown) else pools)
