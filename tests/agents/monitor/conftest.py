"""A watch over the embedded chain, with a home and a memory of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import PollReport, Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests.agents.monitor.made_up_alerts import NOW
from tests.chain.moves import Moves


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return Home(root=folder, cache=tmp_path / "cache")


@pytest.fixture
def changing(devnet: DevnetReady) -> Iterator[Moves]:
    """Moves on the embedded chain that are undone when the test is over."""
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, devnet.url, network_named("devnet"))
        with moves.undone():
            yield moves


@dataclass
class Watchtower:
    """A monitor that polls when it is told to, and can be started again on the same home."""

    url: str
    home: Home
    wallet: str
    settings: WatchSettings = field(default_factory=WatchSettings)
    now: float = NOW

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Watchman]:
        network = network_named("devnet")
        book = AlertStore.open(self.home, now=self.now)
        store, _ = Store.open(self.home.database, now=self.now)
        with store:
            async with RpcClient(network, [self.url]) as client:
                sources = Sources(client, network, store, None, lambda: self.now)
                yield Watchman(self, Watch(sources, [self.wallet]), book)
        book.close()


@dataclass
class Watchman:
    tower: Watchtower
    watch: Watch
    book: AlertStore

    async def poll(self) -> PollReport:
        self.tower.now += 60
        [report] = await poll_once(self.watch, self.tower.settings, self.book, self.tower.now)
        return report


@pytest.fixture
def watchtower(devnet: DevnetReady, home: Home) -> Watchtower:
    return Watchtower(devnet.url, home, devnet.wallet)
