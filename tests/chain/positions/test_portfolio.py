"""Totals of what can be priced, and the name of what cannot."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.units import Known, Unknown
from chain.contracts.networks import NATIVE
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import USDC, WETH
from chain.positions.discovery import Discovery
from chain.positions.overview import (
    Portfolio,
    currencies,
    portfolio,
    price_question,
    price_words,
)
from chain.prices.ladder import price_book
from chain.prices.price import DollarPrice, PriceBook, WorthUnit
from chain.read.block_reader import OneBlock
from chain.tokens import Token, read_tokens
from tests.chain.positions.examples import KEY, position

if TYPE_CHECKING:
    from chain.protocols.snapshot import PositionSnapshot
    from tests.chain.conftest import Desk

FIRST = Token(KEY.currency0, "ONE", 18, verified=True, suspicious=False)
SECOND = Token(KEY.currency1, "TWO", 6, verified=True, suspicious=False)
TOKENS = {FIRST.address: FIRST, SECOND.address: SECOND}


def book(first: Fraction | None, second: Fraction | None, ether: int = 3000) -> PriceBook:
    def price(value: Fraction | None) -> DollarPrice:
        if value is None:
            return DollarPrice(Unknown("nobody trades it"), None)
        return DollarPrice(Known(value, "CoinGecko"), None)

    prices = {FIRST.address: price(first), SECOND.address: price(second)}
    return PriceBook(prices, Known(Fraction(ether), "CoinGecko"))


def mine() -> list[PositionSnapshot]:
    return [
        position(3000, 2500, 3500, fees=(10**15, 2 * 10**6)),
        position(4000, 2500, 3500, fees=(0, 5)),
    ]


def test_worth_adds_up_in_either_unit() -> None:
    positions = mine()
    dollars = portfolio(positions, TOKENS, book(Fraction(3000), Fraction(1)))
    expected_fees = Fraction(10**15 * 3000, 10**18) + Fraction(2 * 10**6 + 5, 10**6)
    assert dollars.fees == expected_fees
    assert dollars.principal == sum(
        Fraction(one.amount0 * 3000, 10**18) + Fraction(one.amount1, 10**6) for one in positions
    )
    assert dollars.unpriced == ()
    totals = [worth.total for worth in dollars.positions]
    assert all(isinstance(total, Known) for total in totals)
    assert sum(total.value for total in totals if isinstance(total, Known)) == dollars.total
    ether = portfolio(positions, TOKENS, book(Fraction(3000), Fraction(1)), WorthUnit.ETH)
    assert ether.total == dollars.total / 3000


def test_what_cannot_be_priced_is_named_and_left_out() -> None:
    positions = mine()
    known = portfolio(positions, TOKENS, book(None, Fraction(1)))
    [missing] = known.unpriced
    assert missing.token == FIRST
    assert missing.amount == sum(one.amount0 + one.fees0 for one in positions)
    assert missing.reason == "nobody trades it"
    inside, above = known.positions
    assert isinstance(inside.total, Unknown)
    # All in the other currency: nothing about it is unknown.
    assert isinstance(above.total, Known)
    assert known.total == sum(Fraction(one.amount1 + one.fees1, 10**6) for one in positions)


def test_nothing_is_worth_nothing() -> None:
    empty = portfolio([], {}, book(None, None))
    assert empty == Portfolio(
        WorthUnit.USD, (), Fraction(0), Fraction(0), Fraction(0), Fraction(0), ()
    )


async def test_the_demo_wallet_is_priced_by_the_same_read(desk: Desk) -> None:
    also = price_words(desk.network)
    client, network = desk.client, desk.network
    wallet = await Discovery(client, network, desk.memory, also=also).read(DEMO_WALLET.address)
    identities = [one.identity for one in wallet.positions]
    assert {NATIVE, WETH.address, USDC.address} <= set(currencies(identities))
    tokens = await read_tokens(client, network, currencies(identities), "latest", now=0)
    here = OneBlock(client, network, wallet.block.hash)
    prices = await price_question(network, identities).read(wallet.words, here, wallet.block)
    held = portfolio(wallet.positions, tokens, price_book(network, {}, prices))
    assert held.unpriced == ()
    assert 50_000 < held.total < 300_000
    assert 0 < held.fees < held.total / 50
    for worth in held.positions:
        assert isinstance(worth.total, Known)
        assert worth.total.block in (None, wallet.block.number)
