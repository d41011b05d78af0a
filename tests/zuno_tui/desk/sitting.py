"""A person at the desk without a screen: asks, and hears what is told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from chain.base.home import Home
from zuno_tui.app.session import Session
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.desk import Desk
from zuno_tui.desk.events import Event
from zuno_tui.intents.intent import Intent
from zuno_tui.settings import Flags, load_settings

E = TypeVar("E")
PATIENCE = 60.0


def opening(
    home: Path,
    url: str,
    *,
    demo: bool = False,
    address: str | None = None,
    model: Mapping[str, str] | None = None,
) -> DeskOpening:
    flags = Flags(network="devnet", rpc=url, address=address)
    settings = load_settings(home / "settings.toml", {}, flags)
    located = Home.locate({}, home)
    session = Session(located, settings, settings.chosen_network(), as_json=False, flags=flags)
    environment = model or {}
    return DeskOpening(session, demo=demo, deterministic=not model, environment=environment)


class Sitting:
    def __init__(self, opened: DeskOpening) -> None:
        self.desk = Desk(opened, self._hear)
        self.heard: list[Event] = []
        self._more = asyncio.Event()

    async def ask(self, intent: Intent) -> None:
        await self.desk.ask(intent)

    async def until(
        self, kind: type[E], holds: Callable[[E], bool] = lambda _: True, *, since: int = 0
    ) -> E:
        """The first event of this kind that holds, of those heard or still to come."""
        async with asyncio.timeout(PATIENCE):
            place = since
            while True:
                for event in self.heard[place:]:
                    if isinstance(event, kind) and holds(event):
                        return event
                place = len(self.heard)
                self._more.clear()
                await self._more.wait()

    def all_heard(self, kind: type[E]) -> list[E]:
        return [event for event in self.heard if isinstance(event, kind)]

    def heard_last(self, kind: type[E]) -> E:
        return self.all_heard(kind)[-1]

    def _hear(self, event: Event) -> None:
        self.heard.append(event)
        self._more.set()


@asynccontextmanager
async def sitting(opened: DeskOpening) -> AsyncIterator[Sitting]:
    here = Sitting(opened)
    async with here.desk:
        yield here
