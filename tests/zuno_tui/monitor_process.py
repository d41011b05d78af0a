"""`zuno monitor` in a process of its own, polling as often as a test needs it to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tests.waiting import HUNG_SECONDS, pauses
from zuno_tui.catalog.registry import registry
from zuno_tui.cli.parser import build_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS = HUNG_SECONDS


def command(home: Path, url: str, *, interval: float, address: str | None = None) -> list[str]:
    """The command as a list; an interval shorter than the command line allows is a test's own."""
    options = ["--network", "devnet", "--rpc", url, "--home", str(home), "--json"]
    options += [] if address is None else ["--address", address]
    return [sys.executable, "-m", "tests.zuno_tui.monitor_process", str(interval), *options]


@dataclass
class MonitorProcess:
    """A running monitor and everything it has printed."""

    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def running(cls, arguments: list[str], **environment: str) -> Iterator[MonitorProcess]:
        """Until the block ends, or it is ended inside."""
        process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        monitor = cls(process)
        readers = [
            threading.Thread(target=read, daemon=True)
            for read in (monitor._read_lines, monitor._read_words)
        ]
        for reader in readers:
            reader.start()
        try:
            yield monitor
        finally:
            process.kill()
            process.wait(_SECONDS)
            for reader in readers:
                reader.join(_SECONDS)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in tuple(self.lines) if line["type"] == kind]

    def until(self, true: Callable[[], bool], seconds: float = _SECONDS) -> None:
        waits = pauses(self.told, seconds)
        while not true():
            assert self.process.poll() is None or true(), self.told()
            time.sleep(next(waits))

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(_SECONDS)

    def told(self) -> str:
        return f"{self.lines[-5:]} {''.join(self.words[-20:])}"

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _read_words(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.words.append(line)


def main() -> int:
    from zuno_tui.app import monitor

    interval, *arguments = sys.argv[1:]
    chosen = build_parser(registry().on_command_line()).parse_args(
        ["monitor", "--interval", interval, *arguments]
    )
    # Tests cannot wait five seconds for each poll.
    with patch.object(monitor, "monitor_interval", float):
        return monitor.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
