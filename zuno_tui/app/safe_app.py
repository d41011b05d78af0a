"""How an app of ours ends: by the person, by a signal or by a fault, with the terminal restored."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text
from textual.app import App

from zuno_tui.screens.crash import crash_page

if TYPE_CHECKING:
    from pathlib import Path

Answer = TypeVar("Answer")

_LOG = logging.getLogger("zuno.screen")
# Without a file to write to, Python would print the log's lines in the middle of the screen.
logging.getLogger("zuno").addHandler(logging.NullHandler())
_ENDING = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


class SafeApp(App[Answer]):
    """Left to itself, Textual dies of a hang-up without a word, and prints variables in a crash."""

    log_path: Path | None = None

    def on_load(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._end_by, number)

    def on_unmount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.remove_signal_handler(number)

    def _end_by(self, number: signal.Signals) -> None:
        _LOG.info("ended by %s", number.name)
        self.exit(return_code=128 + number)

    def _handle_exception(self, error: Exception) -> None:
        _LOG.error("the screen failed", exc_info=error)
        super()._handle_exception(error)
        # Whatever else was to be printed may show values; the first fault's page is enough.
        self._exit_renderables[:] = [Text(crash_page(self._exception or error, self.log_path))]

    def _fatal_error(self) -> None:
        """Textual would print a traceback with every variable here."""
        self._close_messages_no_wait()
