"""The room behind the screen: a thread of its own that answers, ends, and never dies in silence."""

from __future__ import annotations

import asyncio
import queue
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.desk.sitting import opening
from zuno_tui.catalog.intents import Help, Quit, Show
from zuno_tui.desk.events import HelpAsked, PositionsChanged, QuitAsked, Said
from zuno_tui.desk.thread import DeskThread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from zuno_tui.desk.context import DeskOpening
    from zuno_tui.desk.events import Event

PATIENCE = HUNG_SECONDS
_IMPORTED = """
import sys
import zuno_tui.commands.desk_actions
import zuno_tui.desk.thread, zuno_tui.desk.thread, zuno_tui.desk.context
print(*sys.modules)
"""


def test_what_is_asked_is_answered_from_another_thread(devnet: DevnetReady, tmp_path: Path) -> None:
    heard: queue.Queue[tuple[int, Event]] = queue.Queue()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, devnet.url)

    room = DeskThread(opened, lambda event: heard.put((threading.get_ident(), event)))
    room.start()
    room.ask(Show("positions"))
    told: list[Event] = []
    while not any(isinstance(event, PositionsChanged) for event in told):
        thread, event = heard.get(timeout=PATIENCE)
        assert thread != threading.get_ident()
        told.append(event)
    room.close()

    assert room.wait_closed(PATIENCE)
    room.ask(Show("positions"))
    room.confirm("", "apply", None)


def test_leaving_and_help_wait_for_no_desk(tmp_path: Path) -> None:
    told: list[Event] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, told.append)
    room.ask(Help("recommend"))
    room.ask(Quit())

    assert told == [HelpAsked("recommend"), QuitAsked()]


def test_leaving_ends_an_opening_that_takes_long(tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, lambda _: None)
    room.start()
    assert begun.wait(PATIENCE)
    room.close()

    assert room.wait_closed(PATIENCE)
    assert ended.is_set()


def test_a_screen_that_holds_a_room_pays_for_nothing_heavy() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _IMPORTED], capture_output=True, text=True, timeout=60, check=True
    )

    imported = set(told.stdout.split())
    assert "zuno_tui.desk.thread" in imported
    assert imported.isdisjoint(
        {"web3", "openai", "pydantic", "eth_account", "httpcore2", "sqlite3"}
    )
    assert not {name for name in imported if name.startswith(("agents.", "chain.execution"))}


def test_a_room_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    heard: queue.Queue[Event] = queue.Queue()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, heard.put)
    room.start()

    assert room.wait_closed(PATIENCE)
    told = heard.get_nowait()
    assert isinstance(told, Said)
    assert "--rpc must be a URL" in told.words
    room.ask(Show("positions"))
    assert heard.get_nowait() == Said(told.words, "bad", "zuno positions")
