"""A model's words gathered for a moment before they are told: a screen is not drawn per token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zuno_tui.desk.events import ProseHeard

if TYPE_CHECKING:
    from zuno_tui.desk.bench import Tell

_GATHERED_SECONDS = 0.15


class ProseGatherer:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waiting: dict[str, list[str]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, role: str, text: str) -> None:
        self._waiting.setdefault(role, []).append(text)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_GATHERED_SECONDS, self.flush)

    def forget(self, role: str) -> None:
        """The whole turn is told instead."""
        self._waiting.pop(role, None)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for role, pieces in waiting.items():
            self._tell(ProseHeard(role, "".join(pieces)))
