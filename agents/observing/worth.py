"""What a token is, by its address alone, and what its smallest unit is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.facts import TokenFacts
from agents.observing.figures import figure
from chain.prices.coingecko import SOURCE as COINGECKO
from chain.quantity import Known, Quantity, Unknown
from chain.tokens import Kind, listed_token

if TYPE_CHECKING:
    from fractions import Fraction

    from chain.networks import Address, Network
    from chain.prices.price import PriceBook
    from chain.tokens import Token

COIN_DECIMALS = 18
"""Of every network's own coin: a wei is defined so."""


@dataclass(frozen=True, slots=True)
class ValuedToken:
    facts: TokenFacts
    usd_per_unit: Quantity[Fraction]


def valued_token(network: Network, token: Token, prices: PriceBook) -> ValuedToken:
    listed = listed_token(network, token.address)
    unit = usd_per_unit(network, token.address, token.decimals, prices)
    return ValuedToken(
        TokenFacts(
            address=token.address,
            decimals=token.decimals,
            kind=(Kind.OTHER if listed is None else listed.kind).value,
            usd_per_unit=figure(unit),
        ),
        unit,
    )


def usd_per_unit(
    network: Network, address: Address, decimals: int | None, prices: PriceBook
) -> Quantity[Fraction]:
    """Dollars for the smallest unit, with a source that repeats no name a token gave itself."""
    price = prices.price(address)
    if decimals is None:
        return Unknown("its contract gives no usable decimals")
    if isinstance(price, Unknown):
        if listed_token(network, address) is None:
            return Unknown("the market does not price it, and pools price only listed tokens")
        return Unknown("neither the market nor a pool that is deep enough prices it")
    if price.source == COINGECKO:
        source = COINGECKO
    elif address == network.stable:
        source = "counted as one dollar"
    else:
        source = "plain pools of the network"
    return Known(price.value / 10**decimals, source, price.block, price.time)
