"""The embedded chain as Scout sees it, and as its people steer it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from agents.lp.observe import ChainObserver
from chain.base.store import Store
from chain.contracts.networks import Network, network_named
from chain.devnet.launch import DevnetReady
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko
from chain.rpc.client import RpcClient
from tests.chain.moves import Moves

DEVNET = network_named("devnet")


@dataclass(frozen=True)
class Scouting:
    """An observer with a memory of its own."""

    observer: ChainObserver
    client: RpcClient
    store: Store


@asynccontextmanager
async def scouting(
    url: str,
    *,
    network: Network = DEVNET,
    store: Store | None = None,
    coingecko: CoinGecko | None = None,
    now: float = 1_768_000_000.0,
) -> AsyncIterator[Scouting]:
    store = store or Store.in_memory()
    async with RpcClient(network, [url], clock=lambda: now) as client:
        sources = Sources(client, network, store, coingecko, lambda: now)
        yield Scouting(ChainObserver(sources), client, store)


@dataclass(frozen=True)
class Chain:
    ready: DevnetReady
    moves: Moves
    opened: Callable[..., AbstractAsyncContextManager[Scouting]] = field(repr=False)

    @property
    def positions(self) -> dict[str, int]:
        """Token ids of the demo wallet by the state each is in."""
        found: dict[str, int] = self.moves.rpc("zuno_status")["positions"]
        return found

    def call(self, to: str, data: bytes) -> bytes:
        answer: str = self.moves.rpc("eth_call", {"to": to, "data": "0x" + data.hex()}, "latest")
        return bytes.fromhex(answer[2:])


@pytest.fixture(scope="session")
def chain(devnet: DevnetReady) -> Iterator[Chain]:
    with httpx2.Client(verify=False) as http:
        yield Chain(
            devnet,
            Moves(http, devnet.url, DEVNET),
            lambda **options: scouting(devnet.url, **options),
        )
