"""A command that kills itself, as a power cut would, before its n-th change of what is on disk."""

from __future__ import annotations

import os
import runpy
import signal
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_CONNECT: Callable[..., sqlite3.Connection] = sqlite3.connect
_CHANGES = frozenset(("os.rename", "os.remove", "os.mkdir"))
_WRITES = os.O_WRONLY | os.O_RDWR


class PowerCut:
    """Each moment is just before a file is written, renamed or removed, or a commit."""

    def __init__(self, moment: int, home: str) -> None:
        self._left = moment
        self._home = home

    def hear(self, event: str, values: tuple[object, ...]) -> None:
        if event in _CHANGES and str(values[0]).startswith(self._home):
            self._count()
        elif event == "open" and str(values[0]).startswith(self._home):
            flags = values[2]
            if isinstance(flags, int) and flags & _WRITES:
                self._count()

    def connect(self, *given: Any, **named: Any) -> sqlite3.Connection:
        connection = _CONNECT(*given, **named)
        connection.set_trace_callback(self._statement)
        return connection

    def _statement(self, words: str) -> None:
        if words.startswith("COMMIT"):
            self._count()

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    moment, home, *command = sys.argv[1:]
    cut = PowerCut(int(moment), home)
    sys.addaudithook(cut.hear)
    sqlite3.connect = cut.connect  # type: ignore[assignment]
    sys.argv[1:] = command
    runpy.run_module("zuno_tui", run_name="__main__", alter_sys=True)
