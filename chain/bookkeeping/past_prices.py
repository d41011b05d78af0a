"""What tokens were worth at past blocks, by the market of then and by the pools of then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from chain.base.quantity import Known, Quantity, Unknown
from chain.positions.archive import read_past_words
from chain.prices.coingecko_past import coingecko_prices_at
from chain.prices.ladder import laddered, median_of_two, with_ether
from chain.prices.pool_prices import DepthMemory, ask_pool_prices, prices_from_pools
from chain.prices.price import said_words
from chain.read.block_reader import OneBlock
from chain.read.storage_words import read_slots
from chain.rpc.records import Block

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.contracts.pool_key import PoolKey
    from chain.positions.overview import Sources

PastPrices: TypeAlias = "Mapping[int, Mapping[Address, Quantity[Fraction]]]"
"""By block and token, US dollars for a whole one."""


async def read_past_prices(
    sources: Sources,
    head: Block,
    moments: Mapping[int, int],
    tokens: Iterable[Address],
    also: Iterable[PoolKey] = (),
) -> PastPrices:
    """The prices at each of these blocks, which are given with their times.

    How deep a pool is, is asked at the head alone: what it was then would take an archive many
    requests to tell. The price is that of the block itself.
    """
    network = sources.network
    question = ask_pool_prices(network, with_ether(network, tokens), also)
    here = OneBlock(sources.client, network, head.hash)
    now = await read_slots(here, network, question.slots)
    memory = DepthMemory(sources.store, network, sources.clock())
    depths = await question.depths(now.words, here, memory)
    words = await read_past_words(sources.client, network, dict.fromkeys(moments, question.slots))
    market = await _market(sources, question.wanted, moments)
    found: dict[int, Mapping[Address, Quantity[Fraction]]] = {}
    for block, time in moments.items():
        then = words[block]
        pools: Mapping[Address, Quantity[Fraction]]
        if isinstance(then, Unknown):
            pools = dict.fromkeys(question.wanted, then)
        else:
            states = question.believable(then.value)
            at = Block(block, "", "", time, None, 0, 0)
            told = prices_from_pools(network, question.wanted, states, depths, at)
            pools = {address: _dated(price, block) for address, price in told.items()}
        found[block] = {
            address: price_of_then(market.get(time, {}).get(address), price)
            for address, price in pools.items()
        }
    return found


async def _market(
    sources: Sources, tokens: Sequence[Address], moments: Mapping[int, int]
) -> Mapping[int, Mapping[Address, Quantity[Fraction]]]:
    """By time, where the network's tokens are traded anywhere but on itself."""
    coingecko, network = sources.coingecko, sources.network
    if coingecko is None:
        return {}
    told = await coingecko_prices_at(coingecko, network, tokens, moments.values())
    if coingecko.second is None:
        return told
    second = await coingecko.second.usd_at(network, tokens, moments.values())
    return {
        time: {
            token: median_of_two(told[time][token], price) if token in told[time] else price
            for token, price in prices.items()
        }
        for time, prices in second.items()
    }


def price_of_then(
    market: Quantity[Fraction] | None, pools: Quantity[Fraction]
) -> Quantity[Fraction]:
    """The market's; where somebody says otherwise the source tells what each says."""
    if market is None or isinstance(market, Unknown):
        return pools
    price = laddered(market, pools)
    if isinstance(price.usd, Unknown) or not price.disputed:
        return price.usd
    block = None if isinstance(pools, Unknown) else pools.block
    return Known(price.usd.value, f"disputed: {said_words(price)}", block, price.usd.time)


def _dated(price: Quantity[Fraction], block: int) -> Quantity[Fraction]:
    if isinstance(price, Unknown):
        return price
    return Known(price.value, f"{price.source} at block {block}", block, price.time)
