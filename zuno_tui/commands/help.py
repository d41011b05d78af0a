"""`help`: what can be typed at the desk, and which keys there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.commands.command import Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


class Help(Intent, frozen=True):
    topic: str | None = None

    @property
    def twin(self) -> str:
        return "zuno --help" if self.topic is None else f"zuno {self.topic} --help"


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
