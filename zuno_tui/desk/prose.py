"""What the agents say, as the debate pane shows it: without the ids of its numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agents.lp.advice_words import option_letter
from agents.model.claims import ClaimFlag, FlagKind, without_ids
from zuno_tui.desk.cleaning import clean_in_place
from zuno_tui.desk.events import ProseHeard
from zuno_tui.present.transcript import WHY_STRUCK
from zuno_tui.present.views import Struck, TurnView

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
        struck=_struck(moved),
        sourced="" if said == text else said,
        sourced_struck=_struck(flags),
        table=thought.table,
    )


def _struck(flags: tuple[ClaimFlag, ...]) -> tuple[Struck, ...]:
    return tuple(Struck(flag.start, flag.end, WHY_STRUCK[flag.kind]) for flag in flags)


def ending(ended: DebateEnd) -> str:
    """How the debate ended, in a sentence."""
    if ended.plan is not None:
        choice = ended.plan.choice
        what = choice.kind if choice.index is None else f"option {option_letter(choice.index)}"
        return f"{ended.plan.plan_id} says {what}."
    if ended.failure is None:
        return "It ended without a plan."
    return f"It ended at {ended.failure.stage}: {ended.failure.reason}"


# What could still become the id of a number once more of it is heard, and the space before it.
_UNFINISHED = re.compile(r"\s*([\[(][^\])]{0,24})?$")


class SpeakerProse:
    """What can be read of each speaker's words so far; the pane gathers them before it draws."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._unfinished: dict[str, str] = {}

    def hear(self, role: str, text: str) -> None:
        words, unfinished = _readable(self._unfinished.get(role, "") + text)
        self._unfinished[role] = unfinished
        if words:
            self._tell(ProseHeard(role, words))

    def forget(self, role: str) -> None:
        """The whole turn is told instead."""
        self._unfinished.pop(role, None)


def _readable(heard: str) -> tuple[str, str]:
    """What can be read already, without the ids of its numbers, and what must wait for more."""
    unfinished = _UNFINISHED.search(heard)
    end = len(heard) if unfinished is None else unfinished.start()
    return without_ids(heard[:end])[0], heard[end:]
