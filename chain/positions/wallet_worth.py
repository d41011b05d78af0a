"""What wallets own on one network at one block: their positions, and the tokens beside them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts.networks import Address
from chain.positions.discovery import Discovery
from chain.positions.memory import SearchProgress
from chain.positions.overview import (
    Overview,
    Sources,
    Unpriced,
    currencies,
    portfolio,
    tokens_at,
    v4_keys,
)
from chain.positions.search import WalletPositions
from chain.positions.snapshot import STORAGE
from chain.prices.ladder import read_prices
from chain.prices.price import WorthUnit
from chain.read.block_reader import OneBlock, settle_in_parts
from chain.rpc import requests
from chain.rpc.multicall import CallOutcome
from chain.tokens import Token, every_listed_token, listed_token
from chain.tokens.reading import balance_call, balance_of


class IdleAmount(Struct, frozen=True):
    """A token that lies in a wallet."""

    token: Token
    amount: Quantity[int]
    value: Quantity[Fraction]


class WalletWorth(Struct, frozen=True):
    overview: Overview
    idle: tuple[IdleAmount, ...]
    """Those of which there is any, or of which it is not known."""

    @property
    def idle_value(self) -> Fraction:
        """Without what could not be priced."""
        known = (balance.value.value for balance in self.idle if isinstance(balance.value, Known))
        return sum(known, Fraction(0))

    @property
    def total(self) -> Fraction:
        return self.overview.portfolio.total + self.idle_value

    def owned(self, address: Address) -> Quantity[int]:
        """All of one token, in the wallet and in positions with their uncollected fees."""
        idle = next(
            (balance.amount for balance in self.idle if balance.token.address == address), None
        )
        inside = sum(
            position.amount0 + position.fees0 if position.pool.key.currency0 == address else 0
            for position in self.overview.wallet.positions
        ) + sum(
            position.amount1 + position.fees1 if position.pool.key.currency1 == address else 0
            for position in self.overview.wallet.positions
        )
        if idle is None:
            return Known(inside, STORAGE, self.overview.wallet.block.number)
        return idle.map(lambda amount: amount + inside)

    @property
    def unpriced(self) -> tuple[Unpriced, ...]:
        """What is in no total, and why."""
        beside = tuple(
            Unpriced(
                balance.token,
                0 if isinstance(balance.amount, Unknown) else balance.amount.value,
                value.reason,
            )
            for balance in self.idle
            if isinstance(value := balance.value, Unknown)
        )
        return (*self.overview.portfolio.unpriced, *beside)


async def read_worths(
    sources: Sources,
    owners: Sequence[Address],
    unit: WorthUnit,
    *,
    watch: Callable[[SearchProgress], None] = lambda _: None,
    with_v3: bool = False,
) -> tuple[WalletWorth, ...]:
    """All of several wallets at one block, at one price for each token."""
    network = sources.network
    discovery = Discovery(sources.client, network, sources.memory, watch=watch, with_v3=with_v3)
    wallets = await discovery.read_all(owners)
    block = wallets[0].block
    identities = [position.identity for wallet in wallets for position in wallet.positions]
    listed = (item.token.address for item in every_listed_token(network))
    addresses = tuple(dict.fromkeys((*listed, *currencies(identities))))
    held = await _read_balances(sources, wallets, addresses)
    wanted = tuple(dict.fromkeys((*_present(held), *currencies(identities))))
    tokens, prices = await asyncio.gather(
        tokens_at(sources, wanted, block.hash),
        read_prices(
            sources.client,
            network,
            wanted,
            coingecko=sources.coingecko,
            at=block.hash,
            also=v4_keys(identities),
        ),
    )

    def idle(owner: Address) -> tuple[IdleAmount, ...]:
        amounts = ((tokens[address], held[owner, address]) for address in wanted)
        return tuple(
            IdleAmount(
                token,
                amount,
                amount if isinstance(amount, Unknown) else prices.value(token, amount.value, unit),
            )
            for token, amount in amounts
            if isinstance(amount, Unknown) or amount.value
        )

    return tuple(
        WalletWorth(
            Overview(wallet, tokens, prices, portfolio(wallet.positions, tokens, prices, unit)),
            idle(wallet.owner),
        )
        for wallet in wallets
    )


def _present(held: Mapping[tuple[Address, Address], Quantity[int]]) -> tuple[Address, ...]:
    return tuple(
        token for (_, token), amount in held.items() if isinstance(amount, Unknown) or amount.value
    )


async def _read_balances(
    sources: Sources, wallets: Sequence[WalletPositions], addresses: Sequence[Address]
) -> dict[tuple[Address, Address], Quantity[int]]:
    """By wallet and token; a token nobody listed is asked alone, so that it spoils no other."""
    network, block = sources.network, wallets[0].block
    listed = [address for address in addresses if listed_token(network, address) is not None]
    strange = [address for address in addresses if address not in listed]
    asked = [(wallet.owner, token) for wallet in wallets for token in listed]
    alone = [(wallet.owner, token) for wallet in wallets for token in strange]
    here = OneBlock(sources.client, network, block.hash)
    answers = await here.read([balance_call(network, *pair) for pair in asked])
    held = {
        pair: balance_of(outcome, block)
        for pair, outcome in zip(asked, answers.outcomes, strict=True)
    }
    calls = [balance_call(network, *pair) for pair in alone]
    told = await settle_in_parts(
        sources.client, [requests.call(call.target, call.data, block.hash) for call in calls]
    )
    for pair, answer in zip(alone, told, strict=True):
        data = answer if isinstance(answer, bytes) else b""
        held[pair] = balance_of(CallOutcome(isinstance(answer, bytes), data), block)
    return held
