"""Several commands from one phrase: looked at as a list, then gone through one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from zuno_tui.commands.registry import registry
from zuno_tui.phrases.pieces import listed

if TYPE_CHECKING:
    from zuno_tui.commands.command import Intent

GO_WORD = "yes"
NEXT_WORD = "next"


class SeveralIntents(Struct, frozen=True):
    """What one phrase asked for, in order; nothing of it is done before a word confirms it."""

    intents: tuple[Intent, ...]
    confirmed: bool = False

    @property
    def sentence(self) -> str:
        names = listed(intent.title for intent in self.intents)
        return f"That is {len(self.intents)}: {names}. Type {GO_WORD} for these, one by one."

    @property
    def left(self) -> str:
        if not self.intents:
            return "That was the last of them."
        return f"{len(self.intents)} left. When this is done or dropped, type {NEXT_WORD}."

    @property
    def at_once(self) -> bool:
        """Whether none of them waits on the card for a signature, so that all go together."""
        commands = (registry().command_of(intent) for intent in self.intents)
        return all(command.answer is not None and command.order is None for command in commands)
