"""`zuno demo`: the desk on the embedded chain, with no key, no model and no network."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.commands.desk import DeskChoices
from zuno_tui.intents.arguments import DESK_FLAGS
from zuno_tui.intents.intent import Argument

_MOST_OWNERS = 9


def read_owners(text: str) -> tuple[int, int]:
    needed, _, owners = text.partition("/")
    if not (
        needed.isdigit() and owners.isdigit() and 0 < int(needed) <= int(owners) <= _MOST_OWNERS
    ):
        raise ValueError(f"{text!r} is not like 2/3: so many of at most {_MOST_OWNERS} owners")
    return int(needed), int(owners)


class OpenDemo(DeskChoices, frozen=True):
    command: ClassVar = ("demo",)
    arguments: ClassVar = (
        Argument("--text", "print the demo's positions, no screen", switch=True),
        Argument(
            "--fork",
            "on a private copy of a real network as it is now, with its positions and pools",
            switch=True,
        ),
        Argument(
            "--safe",
            "with a Safe as the wallet: so many of so many owners sign, like 1/1 or 2/3",
            metavar="K/N",
            read=read_owners,
        ),
        *DESK_FLAGS,
    )

    text: bool = False
    fork: bool = False
    safe: tuple[int, int] | None = None


COMMAND = Command(
    does="try everything on a chain of its own, with no key",
    group=Group.SETUP,
    reaches_network=False,
    intent=OpenDemo,
)
