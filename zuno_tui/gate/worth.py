"""What tokens and gas are worth, for the limit of the day and the cost on a card."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chain.base.quantity import Unknown
from chain.base.units import MICRO
from chain.contracts.networks import NATIVE
from chain.positions.overview import tokens_at
from chain.prices.ladder import read_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address
    from chain.positions.overview import Sources
    from chain.rpc.records import Block
    from chain.tokens import Token


class OrderWorth(NamedTuple):
    tokens: Mapping[Address, Token]
    usd_per_unit: dict[Address, float]
    """Of those whose worth is known."""
    usd_per_wei: float | None
    disputed: tuple[Address, ...] = ()
    """Tokens of which market and pools say different prices."""

    @property
    def micro_dollars(self) -> dict[Address, Fraction]:
        return micro_dollars(self.usd_per_unit)


def micro_dollars(usd_per_unit: Mapping[Address, float]) -> dict[Address, Fraction]:
    """For one unit of each token, exactly."""
    return {token: Fraction(usd) * MICRO for token, usd in usd_per_unit.items()}


async def read_worth(sources: Sources, tokens: tuple[Address, ...], block: Block) -> OrderWorth:
    wanted = tuple(dict.fromkeys((*tokens, NATIVE)))
    known = await tokens_at(sources.without_memory(), wanted, block.hash)
    book = await read_prices(
        sources.client, sources.network, wanted, coingecko=sources.coingecko, at=block.hash
    )
    units = {address: book.value(token, 1) for address, token in known.items()}
    usd = {
        address: float(value.value)
        for address, value in units.items()
        if not isinstance(value, Unknown)
    }
    return OrderWorth(known, usd, usd.get(NATIVE), book.disputed)
