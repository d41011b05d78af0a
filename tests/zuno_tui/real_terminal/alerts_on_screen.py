"""The alerts as the pane shows them beside the alerts as the file tells them, again and again."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.zuno_tui.screen_terminal import Terminal

MOST_LAG_SECONDS = 10.0
"""How long the pane may tell what the file told before, on a machine that is busy."""
_ROW = re.compile(
    r"^│[ ›▌]*(?:\d+ +)?((?:✗|▲|·) \w+) +(?:#(\d+) +)?(.*?) +(?:<?\d+ \w+) *[▁-█]? *│$"
)
_MARKS = {"critical": "✗ critical", "warning": "▲ warning", "info": "· info"}

Told = tuple[str, str, str]
"""How an alert stands, its position, and its words."""


@dataclass
class AgreementWatch:
    """Samples both; a pane that shows what the file never told lately is a fault."""

    terminal: Terminal
    file: Path
    looks: int = 0
    revisions: int = 0
    most_rows: int = 0
    most_lag: float = 0.0
    faults: list[str] = field(default_factory=list)
    _lately: deque[tuple[float, list[Told]]] = field(default_factory=deque)

    def look(self) -> None:
        shown = on_screen(self.terminal.text)
        self._read_file()
        now = time.monotonic()
        # A version counts until the next one came: how long ago that was is the pane's lag.
        ended = [at for at, _ in list(self._lately)[1:]]
        lags = [
            max(0.0, now - end)
            for end, (_, told) in zip([*ended, now], self._lately, strict=True)
            if _agree(shown, told)
        ]
        self.looks += 1
        self.most_rows = max(self.most_rows, len(shown))
        if lags:
            self.most_lag = max(self.most_lag, min(lags))
        else:
            told = self._lately[-1][1]
            both = ("the pane:", *map(str, shown), "the file:", *map(str, told))
            self.faults.append("\n".join(both))

    def settles(self, seconds: float = MOST_LAG_SECONDS) -> bool:
        """Whether both come to tell the same: a version between two looks may have been missed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            told = in_file(json.loads(self.file.read_bytes()), time.time())
            if _agree(on_screen(self.terminal.text), told):
                return True
            self.terminal.settle(quiet=0.1, seconds=0.5)
        return False

    def _read_file(self) -> None:
        told = in_file(json.loads(self.file.read_bytes()), time.time())
        now = time.monotonic()
        if not self._lately or self._lately[-1][1] != told:
            self._lately.append((now, told))
            self.revisions += 1
        while len(self._lately) > 1 and now - self._lately[1][0] > MOST_LAG_SECONDS:
            self._lately.popleft()


def on_screen(screen: str) -> list[Told]:
    """The rows of the alerts' pane when it has the screen to itself."""
    found = (_ROW.match(line) for line in screen.splitlines())
    return [(one[1], one[2] or "", one[3]) for one in found if one]


def in_file(documents: Iterable[dict[str, Any]], now: float) -> list[Told]:
    told = [(_standing(one, now), one["positionId"] or "", _words(one)) for one in documents]
    fees = [one for one in told if one[0] == "· info" and " of fees to collect" in one[2]]
    if len(fees) < 2:
        return told
    together = ("· info", "", f"Fees on {len(fees)} positions")
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
    seen, cut, _ = words.partition("…")
    whole = told[2]
    reads = whole.startswith(seen) if cut else words.startswith(whole)
    return (state, position) == told[:2] and reads


def _standing(one: dict[str, Any], now: float) -> str:
    muted = one["mutedUntil"] is not None and time.strftime(
        "%Y-%m-%dT%H:%M:%S", time.gmtime(now)
    ) < str(one["mutedUntil"])
    if one["state"] in ("open", "reopened") and not muted:
        return _MARKS[one["severity"]]
    return "· muted" if muted else f"· {one['state']}"


def _words(one: dict[str, Any]) -> str:
    # The pane has the position in a column of its own.
    words = str(one["message"]).removeprefix(f"#{one['positionId']} ")
    pair, _, rest = words.partition(" ")
    if one["positionId"] and "/" in pair and rest:
        words = rest.removeprefix("is ").removeprefix("has a ").removeprefix("has ")
        words = f"{words[0].upper()}{words[1:]}"
    # The pane tells the first sentence, and the line below it all of them.
    return words.partition(". ")[0].removesuffix(".").replace("Out of range for ", "Out for ")
