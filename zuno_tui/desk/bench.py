"""What every part of the desk works with while it is open on one network and wallet."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.overview import Sources

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from chain.networks import Address
    from zuno_tui.cli.session import Session
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.jobs import Jobs
    from zuno_tui.desk.opening import DeskOpening
    from zuno_tui.desk.status import StatusBoard

    Tell = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Bench:
    opening: DeskOpening
    session: Session
    wallet: Address
    sources: Sources
    tell: Tell
    jobs: Jobs
    status: StatusBoard

    @property
    def clock(self) -> Callable[[], float]:
        return self.opening.clock


@asynccontextmanager
async def opened_sources(session: Session, clock: Callable[[], float]) -> AsyncIterator[Sources]:
    with session.open_store() as store:
        async with session.connect() as client, session.market() as coingecko:
            yield Sources(client, session.network, store, coingecko, clock)
