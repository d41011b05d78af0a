"""What a provider is asked for by each thing people do, on a virtual chain of two years."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from agents.bus.worker import StageFailedError
from agents.lp.facts import MarketContext
from agents.lp.observe import ChainObserver
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from agents.numbers.rules import RiskProfile
from chain.base.home import Home
from chain.base.store import Store
from chain.base.units import DAY
from chain.contracts.networks import network_named
from chain.positions.overview import Sources, read_overview
from chain.prices.price import WorthUnit
from chain.protocols.reference import v4_position
from chain.rpc.errors import RpcError
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.provider import Provider, client_through
from tests.fakes.providers.virtual_chain import VirtualChain
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.session import Session
from zuno_tui.desk.context import DeskContext, DeskOpening, StatusBoard
from zuno_tui.desk.jobs import Jobs
from zuno_tui.desk.reading import LIVE, PositionsReader
from zuno_tui.present.views import StatusView
from zuno_tui.settings import Settings

HOLDER = "0x" + "11" * 20
YEARS = 730.0
"""Days, of which every chain has so many behind it."""
IDS = 1_500_000
"""Positions that were ever opened on it, by anybody."""


class CellCost(Struct, frozen=True):
    requests: int
    calls: int
    seconds: float
    waited: float
    sentence: str | None = None
    """What was said instead of an answer."""

    @property
    def text(self) -> str:
        waited = f", {self.waited:.0f} waited" if self.waited >= 1 else ""
        said = "" if self.sentence is None else " (says what to do)"
        return f"{self.requests}/{self.calls} {self.seconds:.1f} s{waited}{said}"


class ProviderWalk:
    """One wallet on one chain behind one provider, with one memory."""

    def __init__(self, profile: Profile, ages: Sequence[float], swaps_a_day: int = 0) -> None:
        """`ages` are days since each of the wallet's positions was opened."""
        network = network_named(profile.network)
        self.clock = VirtualClock()
        head = network.first_block + int(YEARS * DAY / network.block_seconds)
        self.chain = VirtualChain(network, head, IDS + 1, self.clock, swaps_a_day=swaps_a_day)
        for place, days in enumerate(ages):
            token_id = IDS - int(days / YEARS * (IDS - 100)) - place
            self.chain.give(token_id, HOLDER, head - int(days * DAY / network.block_seconds))
        self.network = network
        self.provider = Provider(profile, self.chain, self.clock)
        self.store = Store.in_memory()
        self.told: list[str] = []
        """How far long readings were, in words."""
        self.owned = self.chain.owned(HOLDER, head)

    @asynccontextmanager
    async def sources(self) -> AsyncIterator[Sources]:
        """As a process of its own would open them: nothing is known but what the store holds."""
        async with client_through(self.network, self.provider, store=self.store) as client:
            yield Sources(client, self.network, self.store, None, self.clock.read)

    async def cost(self, action: Callable[[], Awaitable[object]]) -> CellCost:
        self.provider.forget_counts()
        began, waited, sentence = self.clock.now, self.clock.waited, None
        try:
            await action()
        except RpcError as error:
            sentence = f"{error.sentence} {error.next_step}"
        except StageFailedError as error:
            sentence = str(error)
        return CellCost(
            self.provider.requests,
            self.provider.calls,
            self.clock.now - began,
            self.clock.waited - waited,
            sentence,
        )

    async def look(self) -> None:
        """`zuno positions`, which must find everything."""
        async with self.sources() as sources:
            found = await read_overview(sources, HOLDER, WorthUnit.USD)
        assert found.wallet.complete
        assert {one.ref.token_id for one in found.wallet.positions} == self.owned

    async def recommend_without_swaps(self) -> None:
        """By the pool's state alone: what its swaps would tell is unknown, with the reason."""
        seen = await self._observe()
        assert seen.observed.week_path is None
        assert seen.observed.market.fee_rate_7d is None
        assert seen.sources["edge of 7 d"].startswith("unknown: the endpoint ")

    async def _observe(self) -> MarketContext:
        async with self.sources() as sources:
            observer = ChainObserver(sources, reading_progress(self.told.append))
            return await observer.observe_position(
                v4_position(min(self.owned)), RiskProfile.BALANCED
            )

    async def recommend(self) -> MarketContext:
        """All that `zuno recommend` asks the chain for."""
        seen = await self._observe()
        path = seen.observed.week_path
        swaps = self.chain.swaps_a_day * 7
        # The week ends at a full hour of the calendar.
        assert path is not None
        assert swaps * 167 / 168 - 2 <= path.swaps <= swaps
        return seen

    async def open_desk(self, folder: Path, seconds: float) -> None:
        """What an open desk reads, polling, and the monitor that runs inside it."""
        book = AlertStore.open(_home(folder), now=self.clock.now)
        settings = WatchSettings()
        try:
            async with self.sources() as shown, self.sources() as watched:
                reader = PositionsReader(_context(self, shown, folder), LIVE)
                watch, until = Watch(watched, [HOLDER]), self.clock.now + seconds
                read_at = poll_at = self.clock.now
                while self.clock.now < until:
                    if self.clock.now >= read_at:
                        await reader.read()
                        await _others_done()
                        assert reader.view.stale is None, reader.view.stale
                        read_at = self.clock.now + LIVE.between_reads
                    if self.clock.now >= poll_at:
                        [report] = await poll_once(watch, settings, book, self.clock.now)
                        assert report.trouble is None, report.trouble
                        poll_at = self.clock.now + settings.interval_seconds
                    self.clock.now = max(self.clock.now, min(read_at, poll_at))
                assert {row.ref.token_id for row in reader.view.rows} == self.owned
                assert all(row.net_a_day is not None for row in reader.view.rows)
        finally:
            book.close()


def _home(folder: Path) -> Home:
    home = Home.locate({}, folder)
    home.prepare()
    return home


def _context(walk: ProviderWalk, sources: Sources, folder: Path) -> DeskContext:
    settings = Settings(network=walk.network.name, address=HOLDER)
    session = Session(_home(folder), settings, walk.network, as_json=False)

    def tell(_event: object) -> None:
        """Nobody looks."""

    status = StatusBoard(StatusView(network=walk.network.title, wallet=HOLDER), tell)
    opening = DeskOpening(session, clock=walk.clock.read)
    return DeskContext(
        opening, session, HOLDER, sources, tell, Jobs(tell, status.show_jobs), status
    )


async def _others_done() -> None:
    """Until whatever was begun beside is over."""
    me = asyncio.current_task()
    await asyncio.gather(*(one for one in asyncio.all_tasks() if one is not me))
