"""What tokens and gas are worth, for the limit of the day and the cost on a card."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.networks import NATIVE
from chain.prices.ladder import read_prices
from chain.quantity import Unknown
from chain.tokens import read_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.networks import Address
    from chain.overview import Sources
    from chain.rpc.types import Block
    from chain.tokens import Token


class Worth(NamedTuple):
    tokens: Mapping[Address, Token]
    usd_per_unit: dict[Address, float]
    """Of those whose worth is known."""
    usd_per_wei: float | None


async def read_worth(sources: Sources, tokens: tuple[Address, ...], block: Block) -> Worth:
    wanted = tuple(dict.fromkeys((*tokens, NATIVE)))
    known = await read_tokens(
        sources.client,
        sources.network,
        wanted,
        block.hash,
        store=sources.store,
        now=sources.clock(),
    )
    book = await read_prices(
        sources.client, sources.network, wanted, coingecko=sources.coingecko, at=block.hash
    )
    units = {address: book.value(token, 1) for address, token in known.items()}
    usd = {
        address: float(value.value)
        for address, value in units.items()
        if not isinstance(value, Unknown)
    }
    return Worth(known, usd, usd.get(NATIVE))
