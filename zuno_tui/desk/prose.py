"""A model's words gathered for a moment before they are told: a screen is not drawn per token."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from agents.model.claims import without_ids
from zuno_tui.desk.events import ProseHeard

if TYPE_CHECKING:
    from zuno_tui.desk.bench import Tell

_GATHERED_SECONDS = 0.15
# What could still become the id of a number once more of it is heard, and the space before it.
_UNFINISHED = re.compile(r"\s*([\[(][^\])]{0,24})?$")


class ProseGatherer:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waiting: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, role: str, text: str) -> None:
        self._waiting[role] = self._waiting.get(role, "") + text
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_GATHERED_SECONDS, self._flush)

    def forget(self, role: str) -> None:
        """The whole turn is told instead."""
        self._waiting.pop(role, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        self._timer = None
        for role, heard in self._waiting.items():
            words, kept = _readable(heard)
            self._waiting[role] = kept
            if words:
                self._tell(ProseHeard(role, words))


def _readable(heard: str) -> tuple[str, str]:
    """What can be read already, without the ids of its numbers, and what must wait for more."""
    unfinished = _UNFINISHED.search(heard)
    end = len(heard) if unfinished is None else unfinished.start()
    return without_ids(heard[:end])[0], heard[end:]
