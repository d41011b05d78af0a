"""A command at a terminal of its own: what it shows, what is typed into it, what it prints."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS

_SECONDS = HUNG_SECONDS


@dataclass
class Terminal:
    """A pseudo-terminal for questions and words; stdout stays apart, as data."""

    pid: int
    ended: Callable[[float], int | None]
    """The exit code, waited for so many seconds."""
    master: int
    stdout: int
    shown: bytes = b""
    process_records: bytes = b""
    """What any other program could read of the process while it ran."""

    @classmethod
    def run(cls, arguments: Sequence[str], environment: Mapping[str, str]) -> Terminal:
        master, slave = pty.openpty()
        read, written = os.pipe()
        forked = fork_server().start(
            "zuno_tui",
            *arguments,
            environment=environment,
            files=[slave, written, slave],
            at_terminal=True,
        )
        os.close(slave)
        os.close(written)
        return cls(forked.pid, forked.ended, master, read)

    @classmethod
    def run_afresh(cls, arguments: Sequence[str], environment: Mapping[str, str]) -> Terminal:
        """In an interpreter of its own, for who changes how that starts or reads its records."""
        master, slave = pty.openpty()
        read, written = os.pipe()
        # The first terminal that the leader of a session opens becomes the session's own.
        opened = ["sh", "-c", 'exec 0<>"$0"; exec "$@"', os.ttyname(slave)]
        process = subprocess.Popen(
            [*opened, sys.executable, "-m", "zuno_tui", *arguments],
            stdin=slave,
            stdout=written,
            stderr=slave,
            env=dict(environment),
            start_new_session=True,
        )
        os.close(slave)
        os.close(written)
        return cls(process.pid, process.wait, master, read)

    def answer(self, question: str, typed: str) -> None:
        """Wait until the question is on the screen, then type."""
        self.wait_for(question)
        self.type(typed)

    def wait_for(self, question: str) -> None:
        asked = len(self.shown)
        deadline = time.monotonic() + _SECONDS
        while question.encode() not in self.shown[asked:]:
            if not self._read(deadline):
                raise AssertionError(f"{question!r} was never asked: {self.shown.decode()}")
        self._look_at_process()

    def type(self, typed: str) -> None:
        os.write(self.master, typed.encode() + b"\n")

    def end(self) -> tuple[int, str, str]:
        """Exit code, stdout, and everything the terminal showed."""
        deadline = time.monotonic() + _SECONDS
        while self._read(deadline):
            self._look_at_process()
        with os.fdopen(self.stdout, "rb") as stdout:
            out = stdout.read()
        code = self.ended(_SECONDS)
        assert code is not None, f"it never ended: {self.shown.decode()}"
        os.close(self.master)
        return code, out.decode(), self.shown.decode()

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], 0.05)
        if ready:
            try:
                more = os.read(self.master, 65_536)
            except OSError:  # a terminal whose last program ended reads as an error
                more = b""
            self.shown += more
            return bool(more)
        if time.monotonic() > deadline:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError(f"nothing more was shown: {self.shown.decode()}")
        return True

    def _look_at_process(self) -> None:
        for name in ("cmdline", "environ"):
            try:
                self.process_records += Path(f"/proc/{self.pid}/{name}").read_bytes()
            except OSError:
                continue
