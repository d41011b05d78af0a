"""The controller: what is asked goes to the part that does it; what happens is told as events."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from chain.checksum import shortened
from zuno_tui.desk.bench import Bench, opened_sources
from zuno_tui.desk.cleaning import cleaned
from zuno_tui.desk.events import HelpAsked, QuitAsked, Said, ViewAsked
from zuno_tui.desk.faults import fault_words
from zuno_tui.desk.intents import Cancel, Help, Quit, Refresh, Show
from zuno_tui.desk.jobs import Jobs
from zuno_tui.desk.reading import EMBEDDED, LIVE, PositionReader
from zuno_tui.desk.status import StatusBoard
from zuno_tui.desk.views import StatusView

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from chain.wallet.concealed import Passphrase
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.intents import Intent
    from zuno_tui.desk.opening import DeskOpening


class Desk:
    def __init__(self, opening: DeskOpening, tell: Callable[[Event], None]) -> None:
        self._opening = opening
        self._heard = tell
        self._held = AsyncExitStack()
        self._loops: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> None:
        session, clock = self._opening.session, self._opening.clock
        wallet = session.address
        view = StatusView(network=session.network.title, wallet=shortened(wallet))
        self.status = StatusBoard(view, self._tell, clock)
        self.jobs = Jobs(self._tell, self.status.working, clock)
        sources = await self._held.enter_async_context(opened_sources(session, clock))
        bench = Bench(self._opening, session, wallet, sources, self._tell, self.jobs, self.status)
        rhythm = EMBEDDED if session.network.clock == "head" else LIVE
        self.positions = PositionReader(bench, rhythm)
        self.positions.show_remembered()
        self._loops.append(asyncio.create_task(self.positions.run(), name="zuno positions"))

    async def ask(self, intent: Intent) -> None:
        """Begin what is asked; it is under way or refused when this returns."""
        try:
            await self._route(intent)
        except Exception as error:  # one request that fails is one line
            self._tell(Said(fault_words(error), "bad", intent.twin))

    async def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        """The typed word for what was shown under this hash."""
        if passphrase is not None:
            passphrase.wipe()
        self._tell(
            Said(f"Nothing waits for {word!r} under {approval_hash[:12]}. Nothing was signed.")
        )

    async def close(self) -> None:
        for loop in self._loops:
            loop.cancel()
        for loop in self._loops:
            with suppress(asyncio.CancelledError):
                await loop
        await self.jobs.close()
        self.positions.note()
        await self._held.aclose()

    async def _route(self, intent: Intent) -> None:
        match intent:
            case Show(view=view):
                self.positions.soon()
                self._tell(ViewAsked(view))
            case Refresh():
                self.positions.soon()
            case Cancel(job=name):
                ended = self.jobs.cancel(name)
                words = f"Ended: {', '.join(ended)}." if ended else "Nothing is under way."
                self._tell(Said(words))
            case Help(topic=topic):
                self._tell(HelpAsked(topic))
            case Quit():
                self._tell(QuitAsked())
            case _:
                self._tell(Said("The desk cannot do this yet.", "warn", intent.twin))

    def _tell(self, event: Event) -> None:
        self._heard(cleaned(event))
