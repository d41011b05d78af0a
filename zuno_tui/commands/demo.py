"""`zuno demo`: the desk on the embedded chain, with no key, no model and no network."""

from typing import ClassVar

from zuno_tui.catalog.arguments import DESK_FLAGS
from zuno_tui.catalog.command import Argument, Command, Group
from zuno_tui.commands.desk import DeskChoices


class OpenDemo(DeskChoices, frozen=True):
    command: ClassVar = ("demo",)
    arguments: ClassVar = (
        Argument("--text", "print the demo's positions, no screen", switch=True),
        Argument(
            "--fork",
            "on a private copy of a real network as it is now, with its positions and pools",
            switch=True,
        ),
        *DESK_FLAGS,
    )

    text: bool = False
    fork: bool = False


COMMAND = Command(
    does="try everything on a chain of its own, with no key",
    group=Group.SETUP,
    reaches_network=False,
    intent=OpenDemo,
)
