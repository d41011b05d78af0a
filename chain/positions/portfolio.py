"""What positions are worth, one by one and together, in dollars or in ether."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Quantity, Unknown, combine
from chain.prices.ladder import with_ether
from chain.prices.pool_prices import PoolPriceQuestion, ask_pool_prices
from chain.prices.price import PriceBook, WorthUnit

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.positions.batch_reader import AlsoWords
    from chain.positions.identity import PositionIdentity
    from chain.positions.snapshot import PositionSnapshot
    from chain.tokens import Token


class Worth(Struct, frozen=True):
    token_id: int
    principal: Quantity[Fraction]
    fees: Quantity[Fraction]
    total: Quantity[Fraction]


class Unpriced(Struct, frozen=True):
    """An amount that is in no total, and why."""

    token: Token
    amount: int
    reason: str


class Portfolio(Struct, frozen=True):
    unit: WorthUnit
    positions: tuple[Worth, ...]
    principal: Fraction
    fees: Fraction
    """Both without what could not be priced."""
    unpriced: tuple[Unpriced, ...]

    @property
    def total(self) -> Fraction:
        return self.principal + self.fees


def currencies(identities: Iterable[PositionIdentity]) -> tuple[Address, ...]:
    """The tokens these positions are made of, each once."""
    pairs = ((one.pool_key.currency0, one.pool_key.currency1) for one in identities)
    return tuple(dict.fromkeys(address for pair in pairs for address in pair))


def price_question(
    network: Network, identities: Collection[PositionIdentity], beside: Sequence[Address] = ()
) -> PoolPriceQuestion:
    """What must be read of the pools to price these positions and the tokens `beside` them.

    Their own pools count too.
    """
    keys = {one.pool_id: one.pool_key for one in identities}.values()
    wanted = with_ether(network, (*currencies(identities), *beside))
    return ask_pool_prices(network, wanted, keys)


def price_words(network: Network, beside: Sequence[Address] = ()) -> AlsoWords:
    """Lets a read of positions also read what prices them, at the same block."""
    return lambda identities: price_question(network, identities, beside).slots


def portfolio(
    snapshots: Sequence[PositionSnapshot],
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    unit: WorthUnit = WorthUnit.USD,
) -> Portfolio:
    worths: list[Worth] = []
    unpriced: dict[Address, Unpriced] = {}
    sums = {"principal": Fraction(0), "fees": Fraction(0)}

    def value(kind: str, token: Token, amount: int) -> Quantity[Fraction]:
        worth = prices.value(token, amount, unit)
        if isinstance(worth, Unknown):
            before = unpriced[token.address].amount if token.address in unpriced else 0
            unpriced[token.address] = Unpriced(token, before + amount, worth.reason)
        else:
            sums[kind] += worth.value
        return worth

    for one in snapshots:
        key = one.pool.key
        token0, token1 = tokens[key.currency0], tokens[key.currency1]
        principal = _sum(
            value("principal", token0, one.amount0), value("principal", token1, one.amount1)
        )
        fees = _sum(value("fees", token0, one.fees0), value("fees", token1, one.fees1))
        worths.append(Worth(one.token_id, principal, fees, _sum(principal, fees)))
    return Portfolio(unit, tuple(worths), sums["principal"], sums["fees"], tuple(unpriced.values()))


def _sum(*parts: Quantity[Fraction]) -> Quantity[Fraction]:
    return combine(lambda *values: sum(values, Fraction(0)), *parts)
