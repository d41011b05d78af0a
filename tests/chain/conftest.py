"""The embedded chain, seen by a client and moved by its people."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx2
import pytest

from chain.base.store import Store
from chain.contracts.networks import Network, network_named
from chain.devnet.launch import DevnetReady
from chain.history.hour_reader import HourMemory
from chain.positions.discovery import Discovery
from chain.positions.overview import Sources
from chain.protocols.v4.changes import ChangeMemory
from chain.protocols.v4.memory import PositionMemory
from chain.rpc.client import RpcClient
from tests.chain.moves import Moves


@pytest.fixture(scope="session")
def network() -> Network:
    return network_named("devnet")


@pytest.fixture(scope="session")
def moves(devnet: DevnetReady, network: Network) -> Iterator[Moves]:
    with httpx2.Client(verify=False) as http:
        yield Moves(http, devnet.url, network)


@pytest.fixture
def changing(moves: Moves) -> Iterator[Moves]:
    """Moves that are undone when the test is over."""
    with moves.undone():
        yield moves


@dataclass(frozen=True)
class Desk:
    """One reader with its own memory."""

    client: RpcClient
    network: Network
    store: Store

    @property
    def memory(self) -> PositionMemory:
        """As after a restart: nothing but what the store holds."""
        return PositionMemory(self.store, self.network, lambda: 0.0)

    @property
    def changes(self) -> ChangeMemory:
        return ChangeMemory(self.store, self.network, lambda: 0.0)

    @property
    def hours(self) -> HourMemory:
        return HourMemory(self.store, self.network, lambda: 0.0)

    @property
    def sources(self) -> Sources:
        return Sources(self.client, self.network, self.store, None, lambda: 0.0)

    @property
    def discovery(self) -> Discovery:
        return Discovery(self.client, self.network, self.memory)


@pytest.fixture
async def desk(devnet: DevnetReady, network: Network) -> AsyncIterator[Desk]:
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            yield Desk(client, network, store)
