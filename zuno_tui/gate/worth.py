"""What tokens and gas are worth, for the limit of the day and the cost on a card."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from chain.base.units import MICRO, Quantity, Unknown
from chain.contracts.networks import NATIVE, Address
from chain.positions.overview import Sources, tokens_at
from chain.prices.ladder import read_prices
from chain.prices.price import DollarPrice, PriceBook
from chain.rpc.records import Block
from chain.tokens import Token


class ActionWorth(NamedTuple):
    tokens: Mapping[Address, Token]
    usd_per_unit: dict[Address, float]
    """Of those whose worth is known."""
    usd_per_wei: float | None
    disputes: tuple[str, ...] = ()
    """A sentence for each token whose sources say different prices; the highest of them counts."""

    @property
    def micro_dollars(self) -> dict[Address, Fraction]:
        return micro_dollars(self.usd_per_unit)


def micro_dollars(usd_per_unit: Mapping[Address, float]) -> dict[Address, Fraction]:
    """For one unit of each token, exactly."""
    return {token: Fraction(usd) * MICRO for token, usd in usd_per_unit.items()}


async def read_worth(sources: Sources, tokens: tuple[Address, ...], block: Block) -> ActionWorth:
    wanted = tuple(dict.fromkeys((*tokens, NATIVE)))
    known = await tokens_at(sources.without_memory(), wanted, block.hash)
    book = await read_prices(
        sources.client, sources.network, wanted, coingecko=sources.coingecko, at=block.hash
    )
    return order_worth(known, book)


def order_worth(tokens: Mapping[Address, Token], book: PriceBook) -> ActionWorth:
    """By these prices; of one that is disputed the highest, and a sentence that says so."""
    units = {address: _at_most(book, token) for address, token in tokens.items()}
    usd = {
        address: float(value.value)
        for address, value in units.items()
        if not isinstance(value, Unknown)
    }
    disputes = tuple(
        f"{words}. Dollar figures and limits here use the highest."
        for words in book.dispute_words(tokens)
    )
    return ActionWorth(tokens, usd, usd.get(NATIVE), disputes)


def _at_most(book: PriceBook, token: Token) -> Quantity[Fraction]:
    """Of one unit: a limit must hold whichever source is right."""
    price = book.prices.get(token.address)
    if price is None or not price.is_disputed:
        return book.value(token, 1)
    highest = DollarPrice(price.highest, None)
    return PriceBook({token.address: highest}, book.ether).value(token, 1)
