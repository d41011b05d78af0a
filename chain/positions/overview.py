"""A wallet at one block: its positions, the tokens they are made of, and what all is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.base.store import Store
from chain.positions.batch_reader import BatchReader
from chain.positions.discovery import Discovery
from chain.positions.memory import PositionMemory
from chain.positions.portfolio import (
    Portfolio,
    Worth,
    currencies,
    portfolio,
    price_question,
    price_words,
)
from chain.prices.ladder import market_prices, price_book
from chain.prices.pool_prices import DepthMemory
from chain.read.block_reader import OneBlock
from chain.tokens import Token, read_tokens

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.positions.search_state import SearchProgress
    from chain.positions.snapshot import PositionSnapshot
    from chain.positions.wallet_trail import WalletPositions
    from chain.prices.coingecko import CoinGecko
    from chain.prices.price import PriceBook, WorthUnit
    from chain.rpc.client import RpcClient
    from chain.rpc.records import BlockRef


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

    def without_memory(self) -> Sources:
        """The same chain, asked about everything again; what it tells is kept apart."""
        return replace(self, store=Store.in_memory())


async def tokens_at(
    sources: Sources,
    addresses: Iterable[Address],
    at: BlockRef,
    *,
    remember: bool | None = None,
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
    )
    wallet = await discovery.read(owner)
    tokens, prices = await read_values(sources, wallet.positions, wallet.words)
    return Overview(wallet, tokens, prices, portfolio(wallet.positions, tokens, prices, unit))


async def read_one(sources: Sources, token_id: int, unit: WorthUnit) -> OnePosition | None:
    """One position, whoever owns it; None when there is none of this number."""
    at = OneBlock(sources.client, sources.network)
    gathering = BatchReader(at, sources.network, sources.memory, price_words(sources.network))
    await gathering.complete([token_id])
    snapshot = gathering.snapshots().get(token_id)
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
    identities = [one.identity for one in snapshots]
    wanted = currencies(identities)
    question = price_question(network, identities, beside)
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
