"""A model's words gathered for a moment before they are told: a screen is not drawn per token."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from agents.model.claims import ClaimFlag, FlagKind, without_ids
from zuno_tui.desk.cleaning import clean_in_place
from zuno_tui.desk.events import ProseHeard
from zuno_tui.shown.transcript import WHY_STRUCK
from zuno_tui.shown.views import Struck, TurnView

if TYPE_CHECKING:
    from agents.bus.run import SpokenTurn
    from agents.lp.debate import DebateEnd
    from zuno_tui.desk.context import Tell


def turn_view(turn: SpokenTurn) -> TurnView:
    thought = turn.thought
    said = clean_in_place(thought.text)
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    text, moved = without_ids(said, flags)
    return TurnView(
        role=turn.role,
        round=thought.round,
        text=text,
        struck=tuple(Struck(flag.start, flag.end, WHY_STRUCK[flag.kind]) for flag in moved),
        sourced="" if said == text else said,
    )


def ending(ended: DebateEnd) -> str:
    """How the debate ended, in a sentence."""
    if ended.plan is not None:
        choice = ended.plan.choice
        what = choice.kind if choice.index is None else f"move {choice.index}"
        return f"{ended.plan.plan_id} says {what}."
    if ended.failure is None:
        return "It ended without a plan."
    return f"It ended at {ended.failure.stage}: {ended.failure.reason}"


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
