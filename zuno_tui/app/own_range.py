"""Prices as a person writes them, made into a range of a position's own two tokens."""

from __future__ import annotations

from fractions import Fraction

from agents.lp.plan import OwnRange, PricedToken
from chain.base.units import NumeralError, read_numeral
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources, tokens_at
from chain.tokens.pair import Pair, pair_of
from zuno_tui.settings import SettingsError


async def own_range_of(sources: Sources, token_id: int, prices: tuple[str, str]) -> OwnRange:
    """The prices of a position's pair, in the orientation in which `zuno inspect` writes them."""
    network = sources.network
    found = await read_positions(sources.client, network, sources.memory, [token_id], at="latest")
    snapshot = found.get(token_id)
    if snapshot is None:
        raise SettingsError(
            f"There is no position #{token_id} on {network.title}. See yours: zuno positions", ""
        )
    key = snapshot.pool.key
    tokens = await tokens_at(sources, (key.currency0, key.currency1), snapshot.block.hash)
    token0, token1 = tokens[key.currency0], tokens[key.currency1]
    return range_of_pair(pair_of(network, token0, token1, snapshot.pool.sqrt_price_x96), prices)


def range_of_pair(pair: Pair, prices: tuple[str, str]) -> OwnRange:
    if pair.base.decimals is None or pair.quote.decimals is None:
        raise SettingsError(f"{pair.name} gives no usable decimals: no price of it can be named.")
    low, high = sorted(map(read_price, prices))
    if low == high:
        raise SettingsError("A range has two different prices. Like: zuno move 7 2900 3300")
    return OwnRange.of_prices(
        PricedToken(pair.base.address, pair.base.decimals),
        PricedToken(pair.quote.address, pair.quote.decimals),
        low,
        high,
    )


def read_price(text: str) -> Fraction:
    try:
        numeral = read_numeral(text.removeprefix("$"))
    except NumeralError as error:
        raise SettingsError(str(error)) from error
    if numeral.digits <= 0:
        raise SettingsError(f"{text!r} is no price: it must be more than zero.")
    return numeral.value
