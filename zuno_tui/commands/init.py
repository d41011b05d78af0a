"""`zuno init`: how to begin, asked again: network, endpoint, and whose positions."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.commands.desk import DeskChoices
from zuno_tui.intents.arguments import DESK_FLAGS


class BeginAnew(DeskChoices, frozen=True):
    command: ClassVar = ("init",)
    arguments: ClassVar = DESK_FLAGS


COMMAND = Command(
    does="choose network, endpoint and wallet on a screen",
    notes="The rest of settings.toml and the wallets stay as they are.",
    group=Group.SETUP,
    reaches_network=False,
    intent=BeginAnew,
)
