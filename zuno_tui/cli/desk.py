"""`zuno` alone: the desk, on the network and wallet that are set."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from zuno_tui.cli import USAGE

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Callable

    from zuno_tui.desk.events import Event
    from zuno_tui.desk.opening import DeskOpening

_NO_TERMINAL = "The desk needs a terminal: ssh -t host zuno. For scripts: zuno positions --json\n"
_PLAIN_TERMINAL = (
    "This terminal (TERM={}) cannot draw the desk. Set TERM to what it is, like "
    "xterm-256color, or use the commands: zuno positions\n"
)


def run(arguments: Namespace) -> int:
    if (refusal := no_desk_here()) is not None:
        sys.stderr.write(refusal)
        return USAGE
    from zuno_tui.cli.session import Session
    from zuno_tui.look import read_look
    from zuno_tui.running import run_desk

    session = Session.start(arguments)
    session.home.prepare()

    @asynccontextmanager
    async def opening(_tell: Callable[[Event], None]) -> AsyncIterator[DeskOpening]:
        from zuno_tui.desk.opening import DeskOpening

        yield DeskOpening(session, deterministic=arguments.deterministic)

    look = read_look(session.settings, os.environ, arguments)
    return run_desk(session.home, look, opening)


def no_desk_here() -> str | None:
    """Why no desk can be drawn here; None where one can."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return _NO_TERMINAL
    terminal = os.environ.get("TERM", "")
    return _PLAIN_TERMINAL.format(terminal or "unset") if terminal in ("", "dumb") else None
