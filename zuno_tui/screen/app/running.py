"""The desk from its first paint to its last: the screen here, the work in the back room.

Beside it the desk's log: where something failed and what kind of fault it was, never what it said.
An error's own words may hold a URL with its key, a token's name or a passphrase; frames do not.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from chain.base.clean_text import DROP, LIKE_A_KEY
from chain.base.errors import error_kind
from chain.base.home import FILE_MODE, Home
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import Event
from zuno_tui.desk.thread import DeskThread
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.app.ending import Ending
from zuno_tui.screen.full_collections import FullCollections
from zuno_tui.screen.kept_view import read_kept_view, write_kept_view
from zuno_tui.screen.panes.debate import ReadingPace
from zuno_tui.screen.prompt_history import open_history

if TYPE_CHECKING:
    from io import TextIOWrapper

    from zuno_tui.screen.look import Look
    from zuno_tui.screen.screens.first_run import FirstChoice

_SWITCH_SECONDS = 0.0005
_CLOSING_SECONDS = 5.0
"""What the back room gets to put its things away; what was sent is on disk long before."""
LOGGER = "zuno"
_MOST_BYTES = 128 * 1024
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)


Opening: TypeAlias = "Callable[[Callable[[Event], None]], AbstractAsyncContextManager[DeskOpening]]"
"""How the back room comes by what it works with; it may say how far it is."""


def run_desk(
    home: Home,
    look: Look,
    opening: Opening,
    ending: Ending,
    after_first_run: Callable[[FirstChoice], Opening] | None = None,
    *,
    keeps_view: bool = True,
) -> int:
    """The exit code, once the person has left and everything is put away.

    With `after_first_run` the person is asked first how to begin, and that opens instead.
    """
    # The desk computes in a thread beside the screen's: a key must not wait for its turn there.
    sys.setswitchinterval(_SWITCH_SECONDS)
    log = open_log(home.log)
    way = opening

    def tell(event: Event) -> None:
        app.hear(event)

    def begin() -> None:
        if after_first_run is None:
            room.start()
        else:
            from zuno_tui.screen.screens.first_run import FirstRunScreen

            app.push_screen(FirstRunScreen(home), take_choice)

    def take_choice(choice: FirstChoice | None) -> None:
        nonlocal way
        if choice is None or after_first_run is None:
            app.exit()
        else:
            way = after_first_run(choice)
            room.start()

    room = DeskThread(lambda: way(tell), tell)
    app = ZunoApp(
        room,
        ascii_only=look.ascii_only,
        bell=look.bell,
        theme=look.theme,
        keymap=look.keymap,
        history=open_history(home.history) if keeps_view else None,
        kept=read_kept_view(home.view),
        pictures=look.pictures,
        pace=ReadingPace(look.reading_pace, time.monotonic),
        after_first_paint=begin,
        collections=FullCollections(time.monotonic),
    )
    app.log_path = home.log if log is not None else None
    app.ending = ending
    try:
        # Without the mouse a terminal keeps its own selection, over SSH too.
        app.run(mouse=look.mouse)
        if keeps_view:
            write_kept_view(home.view, app.kept_view)
    finally:
        room.close()
        room.wait_closed(_CLOSING_SECONDS)
        close_log(log)
    return ending.code or app.return_code or 0


def open_log(path: Path) -> logging.Handler | None:
    """Begin to write; None where the home cannot take it, which is no reason not to open."""
    try:
        handler = _PrivateFile(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8")
    except OSError:
        return None
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    # Nobody else may print it: a line on stderr would land in the middle of the screen.
    logger.propagate = False
    return handler


def close_log(handler: logging.Handler | None) -> None:
    if handler is not None:
        logging.getLogger(LOGGER).removeHandler(handler)
        handler.close()


class _PrivateFile(RotatingFileHandler):
    """Readable by its owner alone, from its first byte."""

    def _open(self) -> TextIOWrapper:
        return open(
            self.baseFilename,
            "a",
            encoding="utf-8",
            opener=lambda name, flags: os.open(name, flags, FILE_MODE),
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A full disk must not turn into words in the middle of the screen."""


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines()
        told = "\n".join(line.translate(DROP) for line in lines)
        return LIKE_A_KEY.sub("(hidden)", _URL.sub("(a URL)", told))

    def formatException(  # noqa: N802
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        kind, error, _ = ei
        if kind is None or error is None:
            return ""
        return "\n".join(_causes(error))


def _causes(error: BaseException) -> list[str]:
    """The chain of causes, each by its kind and its frames."""
    lines = [] if error.__cause__ is None else [*_causes(error.__cause__), "led to"]
    lines.append(error_kind(error))
    frames = traceback.extract_tb(error.__traceback__)
    lines += [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return lines
