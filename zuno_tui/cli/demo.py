"""`zuno demo`: the desk on the embedded chain, with no key, no model and no network.

Without a terminal, or with --text, it prints the demo wallet's positions instead.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from chain.clean_text import clean_text
from chain.devnet.defaults import DEMO_SPEED
from chain.devnet.launch import DevnetError, devnet_process, running_devnet
from zuno_tui.cli.desk import no_desk_here
from zuno_tui.cli.session import Session, say

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Callable

    from chain.devnet.launch import DevnetReady
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.opening import DeskOpening

_STARTING = "Starting the embedded chain: the real Uniswap v4 contracts, a week of market history."


def run(arguments: Namespace) -> int:
    if arguments.text or arguments.json or no_desk_here() is not None:
        return _print(arguments)
    if arguments.home is not None:
        return _open(arguments)
    with tempfile.TemporaryDirectory(prefix="zuno-demo-", ignore_cleanup_errors=True) as folder:
        return _open(argparse.Namespace(**{**vars(arguments), "home": Path(folder)}))


def _print(arguments: Namespace) -> int:
    from zuno_tui.cli import positions

    say(_STARTING)
    with devnet_process() as devnet:
        return positions.run(_on_devnet(arguments, devnet))


def _open(arguments: Namespace) -> int:
    from zuno_tui.look import read_look
    from zuno_tui.running import run_desk

    # Whose keys and colours: the person's own, while the demo's home is empty.
    settings = Session.start(argparse.Namespace(**{**vars(arguments), "home": None})).settings
    home = Session.start(arguments).home
    home.prepare()
    narration = home.log.with_name("devnet.log")

    @asynccontextmanager
    async def opening(tell: Callable[[Event], None]) -> AsyncIterator[DeskOpening]:
        from zuno_tui.desk.events import Said
        from zuno_tui.desk.opening import DeskOpening

        tell(Said(_STARTING))
        with narration.open("wb") as words:
            async with _devnet(words.fileno(), narration) as devnet:
                session = Session.start(_on_devnet(arguments, devnet))
                yield DeskOpening(session, demo=True, deterministic=arguments.deterministic)

    return run_desk(home, read_look(settings, os.environ, arguments), opening)


@asynccontextmanager
async def _devnet(stderr: int, narration: Path) -> AsyncIterator[DevnetReady]:
    try:
        async with running_devnet(speed=DEMO_SPEED, stderr=stderr) as devnet:
            yield devnet
    except DevnetError as error:
        why = _last_line(narration)
        raise DevnetError(f"The embedded chain did not start. {why}") from error


def _last_line(narration: Path) -> str:
    lines = narration.read_text("utf-8", errors="replace").splitlines()
    return next((clean_text(line) for line in reversed(lines) if line.strip()), "")


def _on_devnet(arguments: Namespace, devnet: DevnetReady) -> Namespace:
    chosen = {"network": "devnet", "rpc": devnet.url, "address": devnet.wallet}
    return argparse.Namespace(**{**vars(arguments), **chosen, "since_entry": True})
