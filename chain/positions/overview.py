"""A wallet at one block: its positions, their tokens, what else it owns, and what all is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown, combine
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts
from chain.positions.batch_reader import AlsoWords, BatchReader
from chain.positions.discovery import Discovery
from chain.positions.search import WalletPositions
from chain.prices.coingecko import CoinGecko
from chain.prices.ladder import market_prices, price_book, read_prices, with_ether
from chain.prices.pool_prices import DepthMemory, PoolPriceQuestion, ask_pool_prices
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.reference import PositionRef
from chain.protocols.registry import protocol_named
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.memory import PositionMemory, SearchProgress
from chain.protocols.v4.storage import STORAGE
from chain.read.block_reader import OneBlock, settle_in_parts
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import StaleHead
from chain.rpc.records import BlockRef
from chain.rpc.requests import CallOutcome
from chain.tokens import Token, every_listed_token, listed_token, read_tokens
from chain.tokens.reading import balance_call, balance_of


class Worth(Struct, frozen=True):
    ref: PositionRef
    principal: Quantity[Fraction]
    fees: Quantity[Fraction]
    withdrawn: Quantity[Fraction]
    """Taken out of the range and not collected yet."""
    waiting: Quantity[Fraction]
    """Both together, which is known where the two cannot be told apart."""
    rewards: Quantity[Fraction]
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
    withdrawn: Fraction
    undivided: Fraction
    """What waits and is fees or withdrawn, nobody can tell which."""
    rewards: Fraction
    """All without what could not be priced."""
    unpriced: tuple[Unpriced, ...]

    @property
    def total(self) -> Fraction:
        return self.principal + self.fees + self.apart + self.rewards

    @property
    def apart(self) -> Fraction:
        """What waits and is not known to be fees."""
        return self.withdrawn + self.undivided


def currencies(identities: Iterable[PositionIdentity]) -> tuple[Address, ...]:
    """The tokens these positions are made of, each once."""
    pairs = ((identity.pool_key.currency0, identity.pool_key.currency1) for identity in identities)
    return tuple(dict.fromkeys(address for pair in pairs for address in pair))


def made_of(snapshots: Iterable[PositionSnapshot]) -> tuple[Address, ...]:
    """The tokens these positions are made of and rewarded with, each once."""
    known = tuple(snapshots)
    rewards = (reward.token for snapshot in known for reward in snapshot.rewards)
    return tuple(dict.fromkeys((*currencies(each.identity for each in known), *rewards)))


def pricing_keys(identities: Iterable[PositionIdentity]) -> tuple[PoolKey, ...]:
    """The pools that may tell prices: those that are words of the PoolManager."""
    keys = {identity.pool_id: identity.pool_key for identity in identities}.values()
    return tuple(key for key in keys if protocol_named(key.protocol).in_pool_manager)


def price_question(
    network: Network, identities: Collection[PositionIdentity], beside: Sequence[Address] = ()
) -> PoolPriceQuestion:
    """What must be read of the pools to price these positions and the tokens `beside` them.

    Their own pools count too.
    """
    keys = pricing_keys(identities)
    wanted = with_ether(network, (*currencies(identities), *beside))
    return ask_pool_prices(network, wanted, keys)


def price_words(network: Network, beside: Sequence[Address] = ()) -> AlsoWords:
    """Lets a read of positions also read what prices them, at the same block."""
    return lambda identities, tokens: price_question(network, identities, (*beside, *tokens)).slots


def portfolio(
    snapshots: Sequence[PositionSnapshot],
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    unit: WorthUnit = WorthUnit.USD,
) -> Portfolio:
    worths: list[Worth] = []
    unpriced: dict[Address, Unpriced] = {}
    sums = dict.fromkeys(("principal", "fees", "withdrawn", "undivided", "rewards"), Fraction(0))

    def value(kind: str, pair: Sequence[Token], amounts: Iterable[int]) -> Quantity[Fraction]:
        told = []
        for token, amount in zip(pair, amounts, strict=True):
            worth = prices.value(token, amount, unit)
            if isinstance(worth, Unknown):
                before = unpriced[token.address].amount if token.address in unpriced else 0
                unpriced[token.address] = Unpriced(token, before + amount, worth.reason)
            else:
                sums[kind] += worth.value
            told.append(worth)
        return _sum(*told)

    for snapshot in snapshots:
        key = snapshot.pool.key
        pair = tokens[key.currency0], tokens[key.currency1]
        principal = value("principal", pair, Amounts(snapshot.amount0, snapshot.amount1))
        fees: Quantity[Fraction]
        withdrawn: Quantity[Fraction]
        if isinstance(snapshot.withdrawn, Unknown):
            fees = withdrawn = snapshot.withdrawn
            waiting = value("undivided", pair, snapshot.collectable)
        else:
            fees = value("fees", pair, Amounts(snapshot.fees0, snapshot.fees1))
            withdrawn = value("withdrawn", pair, snapshot.withdrawn.value)
            waiting = _sum(fees, withdrawn)
        coins = [tokens[reward.token] for reward in snapshot.rewards]
        rewards = value("rewards", coins, [reward.amount for reward in snapshot.rewards])
        total = _sum(principal, waiting, rewards)
        worths.append(Worth(snapshot.ref, principal, fees, withdrawn, waiting, rewards, total))
    return Portfolio(unit, tuple(worths), **sums, unpriced=tuple(unpriced.values()))


def _sum(*parts: Quantity[Fraction]) -> Quantity[Fraction]:
    return combine(lambda *values: sum(values, Fraction(0)), *parts)


class Overview(Struct, frozen=True):
    wallet: WalletPositions
    tokens: Mapping[Address, Token]
    prices: PriceBook
    portfolio: Portfolio


class OnePosition(Struct, frozen=True):
    snapshot: PositionSnapshot
    tokens: Mapping[Address, Token]
    prices: PriceBook
    worth: Worth


class Sources(Struct, frozen=True):
    """What every read needs: the chain, the market where there is one, the memory and the time."""

    client: RpcClient
    network: Network
    store: Store
    coingecko: CoinGecko | None
    clock: Callable[[], float]

    @property
    def memory(self) -> PositionMemory:
        return PositionMemory(self.store, self.network, self.clock)

    @property
    def one_endpoint(self) -> bool:
        """Whether nobody else could be asked whether an answer is true."""
        return len(self.client.endpoints) == 1

    def at_last_block(self, tell: Callable[[StaleHead], None]) -> Sources:
        """For reads alone, which may be of an old block where there is no new one."""
        return replace(self, client=self.client.at_last_block(tell))

    def without_memory(self) -> Sources:
        """The same chain, asked about everything again; what it tells is kept apart."""
        return replace(self, store=Store.in_memory())


async def tokens_at(
    sources: Sources, addresses: Iterable[Address], at: BlockRef, *, remember: bool | None = None
) -> dict[Address, Token]:
    """These tokens; unless asked to, what only one of several endpoints told is not remembered."""
    return await read_tokens(
        sources.client,
        sources.network,
        addresses,
        at,
        store=sources.store,
        remember=sources.one_endpoint if remember is None else remember,
        now=sources.clock(),
    )


async def read_overview(
    sources: Sources,
    owner: Address,
    unit: WorthUnit,
    *,
    watch: Callable[[SearchProgress], None] = lambda _: None,
    between_logs: float = 0.0,
    every_protocol: bool = False,
) -> Overview:
    """All of a wallet; one request to the chain when nothing of it is new to the memory."""
    network = sources.network
    discovery = Discovery(
        sources.client,
        network,
        sources.memory,
        also=price_words(network),
        watch=watch,
        between_logs=between_logs,
        every_protocol=every_protocol,
    )
    wallet = await discovery.read(owner)
    tokens, prices = await read_values(sources, wallet.positions, wallet.words)
    return Overview(wallet, tokens, prices, portfolio(wallet.positions, tokens, prices, unit))


async def read_one(sources: Sources, ref: PositionRef, unit: WorthUnit) -> OnePosition | None:
    """One position, whoever owns it; None when there is none of this number."""
    at = OneBlock(sources.client, sources.network)
    gathering = BatchReader(at, sources.network, sources.memory, price_words(sources.network))
    await gathering.complete([ref])
    snapshot = gathering.snapshots().get(ref)
    if snapshot is None:
        return None
    tokens, prices = await read_values(sources, [snapshot], gathering.words)
    (worth,) = portfolio([snapshot], tokens, prices, unit).positions
    return OnePosition(snapshot, tokens, prices, worth)


async def read_values(
    sources: Sources,
    snapshots: Sequence[PositionSnapshot],
    words: Mapping[int, int],
    *,
    beside: Sequence[Address] = (),
) -> tuple[Mapping[Address, Token], PriceBook]:
    """The tokens of some positions and their prices, from words read at the same block.

    The tokens `beside` are priced too; their words must be among those read.
    """
    network = sources.network
    if not snapshots:
        return {}, price_book(network, {}, {})
    block = snapshots[0].block
    identities = [snapshot.identity for snapshot in snapshots]
    wanted = made_of(snapshots)
    question = price_question(network, identities, (*beside, *wanted))
    tokens, market, pools = await asyncio.gather(
        tokens_at(sources, wanted, block.hash),
        market_prices(sources.coingecko, network, question.wanted),
        question.read(
            words,
            OneBlock(sources.client, network, block.hash),
            block,
            DepthMemory(sources.store, network, sources.clock()),
        ),
    )
    return tokens, price_book(network, market, pools)


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

    def total_of(self, address: Address) -> Quantity[int]:
        """All of one token, in the wallet and in positions with their uncollected fees."""
        idle = next(
            (balance.amount for balance in self.idle if balance.token.address == address), None
        )
        inside = sum(
            amount
            for position in self.overview.wallet.positions
            for token, amount in zip(position.pool.key.values[:2], position.inside, strict=True)
            if token == address
        )
        if idle is None:
            return Known(inside, STORAGE, self.overview.wallet.block.number)
        return idle.map(lambda amount: amount + inside)

    @property
    def unpriced_tokens(self) -> tuple[Unpriced, ...]:
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
    every_protocol: bool = False,
) -> tuple[WalletWorth, ...]:
    """All of several wallets at one block, at one price for each token."""
    network = sources.network
    discovery = Discovery(
        sources.client, network, sources.memory, watch=watch, every_protocol=every_protocol
    )
    wallets = await discovery.read_all(owners)
    block = wallets[0].block
    positions = [position for wallet in wallets for position in wallet.positions]
    listed = (item.token.address for item in every_listed_token(network))
    addresses = tuple(dict.fromkeys((*listed, *made_of(positions))))
    held = await _read_balances(sources, wallets, addresses)
    wanted = tuple(dict.fromkeys((*_present(held), *made_of(positions))))
    tokens, prices = await asyncio.gather(
        tokens_at(sources, wanted, block.hash),
        read_prices(
            sources.client,
            network,
            wanted,
            coingecko=sources.coingecko,
            at=block.hash,
            also=pricing_keys(position.identity for position in positions),
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
