"""`help`: what can be typed at the desk, and which keys there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Help

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


def _read(said: Remaining) -> Help:
    topic = said.text.lower()
    if any(character.isdigit() for character in topic):
        said.refuse("with which verb help is wanted.", "help")
    return Help(None if topic in ("", "me", "us") else topic)


COMMAND = Command(
    name="help",
    does="what can be typed, and which keys there are",
    group=Group.DESK,
    reaches_network=False,
    intent=Help,
    on_command_line=False,
    verbs=(
        Verb(
            "help",
            _read,
            "help [VERB]",
            spoken=(
                *("?", "hi", "hello", "hey", "gm", "what can i do", "what can you do"),
                *("good morning", "good evening"),
            ),
        ),
    ),
    key="desk.help",
)
