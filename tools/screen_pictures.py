"""`make screenshots`: the pictures of the README, taken from the running desk on its real chain."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.color import ColorSystem

from chain.base.home import Home
from chain.contracts.delegation import delegated_code
from chain.devnet.json_rpc import NodeClient
from chain.devnet.launch import DevnetReady, devnet_process
from chain.protocols.reference import PositionRef, v3_position, v4_position
from tools.screen_drawing import save_picture
from zuno_tui.app.session import Session
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.thread import DeskThread
from zuno_tui.features.orders.intents import OrderClose
from zuno_tui.features.trade.intents import Hedge
from zuno_tui.features.trade.screen import TradeScreen
from zuno_tui.intents.intents import Apply, Approve, Inspect, Recommend
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.screens.confirm import ConfirmScreen
from zuno_tui.screen.screens.position import PositionScreen
from zuno_tui.screen.themes import COLOURLESS, DEFAULT
from zuno_tui.settings import Flags, load_settings

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.strip import Strip

    from zuno_tui.desk.events import Event

_LONGEST_REST = 2.0
"""Seconds: nobody wants to watch a desk wait."""


class ScreenRecording:
    """Every row that differs from what stood there, with the seconds at which it was seen."""

    def __init__(self, size: tuple[int, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._frames: list[tuple[float, str]] = []
        self._rows: list[str] = []
        self._looked_at: float | None = None
        self._played = 0.0

    def see(self, strips: Sequence[Strip]) -> None:
        now = self._clock()
        rows = [*map(_written, strips)]
        changed = "".join(
            f"\x1b[{at + 1};1H{row}"
            for at, row in enumerate(rows)
            if at >= len(self._rows) or self._rows[at] != row
        )
        if not changed:
            return
        self._rows = rows
        if self._looked_at is not None:
            self._played += min(_LONGEST_REST, now - self._looked_at)
        self._looked_at = now
        self._frames.append((self._played, changed))

    def lines(self) -> list[str]:
        width, height = self._size
        header = {"version": 2, "width": width, "height": height, "title": "zuno"}
        events = ([round(seconds, 3), "o", changed] for seconds, changed in self._frames)
        return [json.dumps(header), *map(json.dumps, events)]

    def save(self, path: Path) -> None:
        path.write_text("".join(f"{line}\n" for line in self.lines()), "utf-8")


def _written(strip: Strip) -> str:
    """A row with its colours, ended without any."""
    parts = [
        text if style is None else style.render(text, color_system=ColorSystem.TRUECOLOR)
        for text, style, control in strip
        if not control
    ]
    return "".join(parts) + "\x1b[0m\x1b[K"


FOLDER = Path("screenshots")
_USUAL = (120, 36)
_SMALL = (80, 24)
_LARGE = (200, 55)
_MOVED = v4_position(26)
"""The demo's position that has left its range."""
_EARNING = v4_position(28)
_OF_V3 = v3_position(4)
_PATIENCE = 90.0
_BETWEEN_FRAMES = 0.2


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(_take_all())


async def _take_all() -> None:
    # The market stands still, so that the same pictures show the same prices.
    with devnet_process(stderr=subprocess.DEVNULL, v3=True) as devnet:
        async with _sitting(devnet, _USUAL) as desk, _recorded(desk.app, _USUAL):
            await desk.debate()
            desk.take("desk")
            await desk.zoomed("3", "debate")
            await desk.zoomed("4", "plan")
            await desk.inspected("position")
            await desk.asked_to_sign("confirmation")
            await desk.hedged("hedge")
        with _lent(devnet):
            async with _sitting(devnet, _USUAL) as desk:
                await desk.debate()
                await desk.asked_to_sign("one-transaction")
            async with _sitting(devnet, _USUAL) as desk:
                await desk.ordered("order")
        for name, size, theme in (
            ("narrow", _SMALL, DEFAULT),
            ("light", _USUAL, "zuno-light"),
            ("colourless", _USUAL, COLOURLESS),
        ):
            async with _sitting(devnet, size, theme) as desk:
                await desk.debate()
                await desk.pilot.press("1")
                desk.take(name)
        async with _sitting(devnet, _LARGE) as desk:
            await desk.looked_at("wide")
            await desk.debate(_OF_V3)
            desk.take("both-protocols")


@contextmanager
def _lent(devnet: DevnetReady) -> Iterator[None]:
    """The wallet as it is once its account is delegated."""
    code = delegated_code(str(devnet.contracts.delegate))
    with NodeClient(devnet.url) as node:
        node.ask("anvil_setCode", devnet.wallet, "0x" + code.hex())
        yield
        node.ask("anvil_setCode", devnet.wallet, "0x")


class _Sitting(Struct, frozen=True):
    app: ZunoApp
    pilot: Pilot[None]

    async def debate(self, position: PositionRef = _MOVED) -> None:
        await self._until(lambda: bool(self.app.told.alerts.rows), "alerts")
        await self._until(self._all_is_told, "positions")
        self.app.link.ask(Recommend(position))
        await self._until(lambda: self.app.told.plan is not None, "a plan")
        # The debate stays in front for whoever reads it; the desk shows what came of it.
        await self.pilot.press("4", "1")
        await self.pilot.pause(1.0)

    async def looked_at(self, name: str) -> None:
        """Before anything was asked, once all there is to see is seen."""
        await self._until(lambda: bool(self.app.told.alerts.rows), "alerts")
        await self._until(lambda: self._shows("GAIN  prices"), "what the week brought")
        await self.pilot.pause(0.5)
        self.take(name)

    async def zoomed(self, pane: str, name: str) -> None:
        await self.pilot.press(pane, "z")
        await self.pilot.pause(0.5)
        self.take(name)
        await self.pilot.press("z", "1")

    async def inspected(self, name: str) -> None:
        self.app.link.ask(Inspect(_EARNING))
        await self._until(lambda: isinstance(self.app.screen, PositionScreen), "the position")
        await self._until(lambda: all(map(self._shows, ("now", "LIQUIDITY", "NET"))), "its past")
        await self.pilot.pause(0.5)
        self.take(name)
        await self.pilot.press("escape")

    async def ordered(self, name: str) -> None:
        await self._until(self._all_is_told, "positions")
        self.app.link.ask(OrderClose(_EARNING, ("below", "2900")))
        await self._until(lambda: isinstance(self.app.screen, ConfirmScreen), "the order")
        await self.pilot.pause(0.5)
        self.take(name)
        await self.pilot.press("escape")

    async def hedged(self, name: str) -> None:
        self.app.link.ask(Hedge(_EARNING))
        await self._until(lambda: isinstance(self.app.screen, TradeScreen), "the trade desk")
        await self._until(lambda: self._shows("a: approve"), "its plan")
        await self.pilot.pause(0.5)
        self.take(name)
        await self.pilot.press("escape")

    async def asked_to_sign(self, name: str) -> None:
        """The page before the signature; nothing is typed on it."""
        self.app.link.ask(Approve())
        await self._until(self._is_approved, "an approval")
        self.app.link.ask(Apply())
        await self._until(lambda: isinstance(self.app.screen, ConfirmScreen), "the confirmation")
        await self.pilot.pause(0.5)
        self.take(name)
        await self.pilot.press("escape")

    def take(self, name: str) -> None:
        save_picture(shown_strips(self.app), FOLDER / f"{name}.png")
        sys.stdout.write(f"{FOLDER / name}.png\n")

    def _shows(self, words: str) -> bool:
        return any(words in strip.text for strip in shown_strips(self.app))

    def _all_is_told(self) -> bool:
        rows = self.app.told.positions.rows
        return bool(rows) and all(row.against_holding != "…" for row in rows)

    def _is_approved(self) -> bool:
        plan = self.app.told.plan
        return plan is not None and plan.approval is not None

    async def _until(self, there: Callable[[], bool], what: str) -> None:
        for _ in range(int(_PATIENCE / 0.1)):
            if there():
                return
            await self.pilot.pause(0.1)
        raise TimeoutError(f"The desk did not come to show {what}.")


def shown_strips(app: ZunoApp) -> list[Strip]:
    """What the terminal shows now, row by row."""
    return app.screen._compositor.render_strips()


@asynccontextmanager
async def _recorded(app: ZunoApp, size: tuple[int, int]) -> AsyncIterator[None]:
    """All that happens meanwhile, as a recording beside the pictures."""
    recording = ScreenRecording(size)

    async def watch() -> None:
        while True:
            recording.see(shown_strips(app))
            await asyncio.sleep(_BETWEEN_FRAMES)

    watching = asyncio.create_task(watch(), name="zuno recording")
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    recording.save(FOLDER / "desk.cast")
    sys.stdout.write(f"{FOLDER / 'desk.cast'}\n")


@asynccontextmanager
async def _sitting(
    devnet: DevnetReady, size: tuple[int, int], theme: str = DEFAULT
) -> AsyncIterator[_Sitting]:
    def hear(event: Event) -> None:
        app.hear(event)

    with tempfile.TemporaryDirectory() as folder:
        room = DeskThread(lambda: _opening(devnet, Path(folder)), hear)
        app = ZunoApp(room, theme=theme, after_first_paint=room.start)
        async with app.run_test(size=size) as pilot:
            yield _Sitting(app, pilot)
            # Nothing is told any more once the panes are gone.
            room.close()
            await asyncio.to_thread(room.wait_closed, _PATIENCE)


@asynccontextmanager
async def _opening(devnet: DevnetReady, folder: Path) -> AsyncIterator[DeskOpening]:
    home = Home.locate({}, folder)
    home.prepare()
    flags = Flags(network="devnet", rpc=devnet.url, address=devnet.wallet)
    settings = load_settings(home.settings, {}, flags)
    session = Session(home, settings, settings.chosen_network(), as_json=False)
    yield DeskOpening(session, demo=True, deterministic=True, environment={})


if __name__ == "__main__":
    main()
