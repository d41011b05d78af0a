"""A full-screen program at a terminal of its own, read back as a person would see it."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.terminal_emulator import Emulator

SECONDS = HUNG_SECONDS
_HAND_SECONDS = 0.12
"""Between two keys of somebody who types with care."""
_READ_AT_ONCE = 65_536


class Terminal:
    """A pseudo-terminal that the program owns whole: its input, its screen, its hang-up."""

    def __init__(
        self,
        argv: Sequence[str],
        cols: int = 80,
        rows: int = 24,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.raw = bytearray()
        """Every byte the program ever sent, for who counts or searches them."""
        self.screen = Emulator(cols, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Ours stays open, so that how the program left the terminal can be asked afterwards.
        self._master, self._slave = pty.openpty()
        self._set_size(cols, rows)
        self.before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            # The first terminal that the leader of a session opens becomes the session's own.
            ["sh", "-c", 'exec 0<>"$0"; exec "$@"', os.ttyname(self._slave), *argv],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)

    @property
    def lines(self) -> list[str]:
        return self.screen.shown()

    @property
    def text(self) -> str:
        """The screen as it stands, after all that has arrived was drawn."""
        while self._read(0):
            pass
        return "\n".join(self.lines)

    def ink(self, words: str) -> str:
        """The colour these words are drawn in, where they stand first."""
        row = next(place for place, line in enumerate(self.lines) if words in line)
        return str(self.screen.buffer[row][self.lines[row].index(words)].fg)

    def restored(self) -> bool:
        """Whether the terminal's own settings are as the program found them."""
        return termios.tcgetattr(self._slave) == self.before

    def send(self, keys: str) -> None:
        waiting = keys.encode()
        while waiting:
            waiting = waiting[os.write(self._master, waiting) :]

    def type(self, word: str, pause: float = 0.03) -> None:
        """Letter by letter, as a hand does."""
        for letter in word:
            self.send(letter)
            self.watch(pause)

    def answer(self, word: str, shows: str, seconds: float = SECONDS) -> str:
        """Type a word and wait for what comes of it.

        Keys that a busy machine hands over in one piece are taken for a paste; a person reads so
        and types the word again.
        """
        self.type(f"{word}\r", pause=_HAND_SECONDS)
        text = self.wait_for(f"{shows}|That was pasted", seconds)
        if re.search(shows, text):
            return text
        self.type(f"{word}\r", pause=3 * _HAND_SECONDS)
        return self.wait_for(shows, seconds)

    def paste(self, text: str) -> None:
        """As a terminal hands over its clipboard: between the marks of a paste."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def wait_for(self, pattern: str, seconds: float = SECONDS) -> str:
        """The screen, once a regular expression is found on it."""
        return self._wait(pattern, seconds, found=True)

    def wait_gone(self, pattern: str, seconds: float = SECONDS) -> str:
        """The screen, once a regular expression is found on it no more."""
        return self._wait(pattern, seconds, found=False)

    def _wait(self, pattern: str, seconds: float, *, found: bool) -> str:
        deadline = time.monotonic() + seconds
        while (re.search(pattern, self.text) is not None) is not found:
            if time.monotonic() > deadline or not self._more(deadline):
                shown = "\n".join(self.lines)
                never = "never came" if found else "never went"
                raise AssertionError(f"{pattern!r} {never}. The screen was:\n{shown}")
        return "\n".join(self.lines)

    def hear(self, words: str, since: int, seconds: float = SECONDS) -> float:
        """When these words had arrived, by the performance counter; drawn only afterwards.

        Drawing takes this emulator longer than any terminal, and is none of the program's time.
        """
        deadline = time.monotonic() + seconds
        pieces = []
        while self.raw.find(words.encode(), since) < 0:
            if time.monotonic() > deadline:
                raise AssertionError(f"{words!r} was never sent")
            if select.select([self._master], [], [], 0.05)[0]:
                pieces.append(os.read(self._master, _READ_AT_ONCE))
                self.raw += pieces[-1]
        heard = time.perf_counter()
        for piece in pieces:
            self.screen.take(self._decoder.decode(piece))
        return heard

    def settle(self, quiet: float = 0.3, seconds: float = SECONDS) -> str:
        """The screen, once nothing more has been drawn for a moment."""
        deadline = time.monotonic() + seconds
        while self._read(quiet) and time.monotonic() < deadline:
            pass
        return "\n".join(self.lines)

    def read_page(self, seconds: float = 1.5) -> None:
        """Take longer than a page must stand before the keys pressed on it count."""
        self.settle()
        self.watch(seconds)

    def watch(self, seconds: float) -> None:
        """As a person does between two keys, for at least so long."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            self._read(left)

    def resize(self, cols: int, rows: int) -> None:
        self._set_size(cols, rows)
        self.screen.resize(rows, cols)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def hang_up(self) -> None:
        """Take the line away, as a dropped connection does."""
        os.close(self._master)
        self._master = -1

    def end(self, seconds: float = SECONDS) -> int:
        """The exit code, once the program has ended by itself."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not end. The screen was:\n{self.text}")
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    def _more(self, deadline: float) -> bool:
        if self._read(min(0.05, max(0.0, deadline - time.monotonic()))):
            return True
        return self.process.poll() is None or self._read(0.05)

    def _read(self, patience: float) -> bool:
        if self._master < 0:
            return False
        ready, _, _ = select.select([self._master], [], [], patience)
        if not ready:
            return False
        arrived = os.read(self._master, _READ_AT_ONCE)
        self.raw += arrived
        self.screen.take(self._decoder.decode(arrived))
        return True

    def _set_size(self, cols: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, cols, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)
