"""What a screen showed over time, as an asciicast v2 that any terminal player plays."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from rich.color import ColorSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.strip import Strip

_LONGEST_REST = 2.0
"""Seconds: nobody wants to watch a desk wait."""


class ScreenRecording:
    """Every row that differs from what stood there, with the seconds at which it was seen."""

    def __init__(self, size: tuple[int, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._frames: list[tuple[float, str]] = []
        self._rows: list[str] = []
        self._looked_at: float | None = None
        self._played = 0.0

    def see(self, strips: Sequence[Strip]) -> None:
        now = self._clock()
        rows = [*map(_written, strips)]
        changed = "".join(
            f"\x1b[{at + 1};1H{row}"
            for at, row in enumerate(rows)
            if at >= len(self._rows) or self._rows[at] != row
        )
        if not changed:
            return
        self._rows = rows
        if self._looked_at is not None:
            self._played += min(_LONGEST_REST, now - self._looked_at)
        self._looked_at = now
        self._frames.append((self._played, changed))

    def lines(self) -> list[str]:
        width, height = self._size
        header = {"version": 2, "width": width, "height": height, "title": "zuno"}
        events = ([round(seconds, 3), "o", changed] for seconds, changed in self._frames)
        return [json.dumps(header), *map(json.dumps, events)]

    def save(self, path: Path) -> None:
        path.write_text("".join(f"{line}\n" for line in self.lines()), "utf-8")


def _written(strip: Strip) -> str:
    """A row with its colours, ended without any."""
    parts = [
        text if style is None else style.render(text, color_system=ColorSystem.TRUECOLOR)
        for text, style, control in strip
        if not control
    ]
    return "".join(parts) + "\x1b[0m\x1b[K"
