"""The alerts as the pane shows them beside the alerts as the file tells them, again and again."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.zuno_tui.screen_terminal import Terminal

MOST_LAG_SECONDS = 60.0
"""How long the pane may tell what the file told before, on a machine that is busy."""
_REST = 50
"""So many times as long as a look takes: the monitor writes far less often."""
_ROW = re.compile(
    r"^│[ ›▌]*(?:\d+ +)?((?:✗|▲|·) \w+) +(?:#(\d+) +)?(.*?)(?: +<?\d+ \w+)? *[▁-█]? *│$"
)
_MARKS = {"critical": "✗ critical", "warning": "▲ warning", "info": "· info"}

Told = tuple[str, str, str]
"""How an alert stands, its position, and its words."""


class FileVersion(NamedTuple):
    since: float
    documents: list[dict[str, Any]]


class PaneSample(NamedTuple):
    when: float
    wall_time: float
    rows: list[Told]


@dataclass
class AgreementWatch:
    """Samples of the pane, and every version of the file since before the first of them.

    The pane reads the database that the file is written from: it may be behind the file, which it
    never reads, and ahead of it while the file waits to be written.
    """

    terminal: Terminal
    file: Path
    samples: list[PaneSample] = field(default_factory=list)
    versions: list[FileVersion] = field(default_factory=list)

    @classmethod
    @contextmanager
    def begun(cls, terminal: Terminal, file: Path) -> Iterator[AgreementWatch]:
        """From the first look on the pane has had time to show what the file tells."""
        watch = cls(terminal, file)
        stop = threading.Event()
        reader = threading.Thread(target=watch._follow, args=(stop,), daemon=True)
        reader.start()
        try:
            assert watch.settles()
            yield watch
        finally:
            stop.set()
            reader.join()

    def look(self) -> None:
        self.samples.append(
            PaneSample(time.monotonic(), time.time(), on_screen(self.terminal.text))
        )

    def settles(self, seconds: float = 6 * MOST_LAG_SECONDS) -> bool:
        """Whether both come to tell the same."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            rows = in_file(json.loads(self.file.read_bytes()), time.time())
            if _agree(on_screen(self.terminal.text), rows):
                return True
            self.terminal.settle(quiet=0.1, seconds=0.5)
        return False

    @property
    def most_rows(self) -> int:
        return max(len(sample.rows) for sample in self.samples)

    def lags(self) -> list[float | None]:
        """By sample: how many seconds from a version it agrees with; None where none is near."""
        return [min(self._distances(sample), default=None) for sample in self.samples]

    def faults(self) -> list[str]:
        """What the pane showed while the file told nothing like it, shortly before or after."""
        return [
            "\n".join(("the pane:", *map(str, sample.rows), "the file:", *self._told_at(sample)))
            for sample, lag in zip(self.samples, self.lags(), strict=True)
            if lag is None
        ]

    def _distances(self, sample: PaneSample) -> Iterator[float]:
        ends = [version.since for version in self.versions[1:]]
        for version, end in zip(self.versions, [*ends, math.inf], strict=True):
            distance = max(0.0, version.since - sample.when, sample.when - end)
            if distance <= MOST_LAG_SECONDS and _agree(
                sample.rows, in_file(version.documents, sample.wall_time)
            ):
                yield distance

    def _told_at(self, sample: PaneSample) -> Iterator[str]:
        known = [version for version in self.versions if version.since <= sample.when]
        return map(str, in_file(known[-1].documents, sample.wall_time))

    def _follow(self, stop: threading.Event) -> None:
        while True:
            began = time.monotonic()
            documents = json.loads(self.file.read_bytes())
            if not self.versions or self.versions[-1].documents != documents:
                self.versions.append(FileVersion(time.monotonic(), documents))
            if stop.wait(_REST * (time.monotonic() - began)):
                return


def on_screen(screen: str) -> list[Told]:
    """The rows of the alerts' pane when it has the screen to itself."""
    found = (_ROW.match(line) for line in screen.splitlines())
    return [(one[1], one[2] or "", one[3]) for one in found if one]


def in_file(documents: Iterable[dict[str, Any]], now: float) -> list[Told]:
    told = [(_standing(one, now), one["positionId"] or "", _words(one)) for one in documents]
    over = [one for one in told if one[0] == "· resolved"]
    if len(over) > 1:
        folded = ("· resolved", "", f"{len(over)} resolved")
        told = [*(one for one in told if one[0] != "· resolved"), folded]
    fees = [
        one for one in told if one[0] == "· info" and one[2] == _BEGINS["fees_worth_collecting"]
    ]
    if len(fees) < 2:
        return told
    together = ("· info", "", f"Worth collecting on {len(fees)}")
    return [together, *(one for one in told if one not in fees)]


def _agree(shown: list[Told], told: list[Told]) -> bool:
    """Whether the same alerts stand the same on both, each in its words as far as there is room."""
    left = list(told)
    for one in shown:
        fitting = next((other for other in left if _same(one, other)), None)
        if fitting is None:
            return False
        left.remove(fitting)
    return not left


def _same(shown: Told, told: Told) -> bool:
    state, position, words = shown
    return (state, position) == told[:2] and re.match(told[2], words) is not None


def _standing(one: dict[str, Any], now: float) -> str:
    muted = one["mutedUntil"] is not None and time.strftime(
        "%Y-%m-%dT%H:%M:%S", time.gmtime(now)
    ) < str(one["mutedUntil"])
    if one["state"] in ("open", "reopened") and not muted:
        return _MARKS[one["severity"]]
    return "· muted" if muted else f"· {one['state']}"


# Its figures are those of the last read: the pane may know newer ones than the document.
_BEGINS = {
    "out_of_range": "Out|Back",
    "near_boundary": "Near",
    "likely_to_leave": r"[\d.]+% chance",
    "fees_worth_collecting": r"\$[\d,.]+ to collect",
    "withdrawn_waits": r"\$[\d,.]+ (?:waits|withdrawn)",
}


def _words(one: dict[str, Any]) -> str:
    """How the row begins, whichever way it is cut; what has no figures says its message."""
    words = str(one["message"]).removeprefix(f"#{one['positionId']} ").partition(" ")[2]
    return _BEGINS.get(one["kind"], re.escape(words.removeprefix(": ")[1:9]).join((".", "")))
