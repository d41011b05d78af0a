"""`zuno` alone, or `zuno desk`: the desk, on the network and wallet that are set."""

from __future__ import annotations

from typing import ClassVar

from zuno_tui.commands.command import Command, Group, Intent


class OpenDesk(Intent, frozen=True):
    command: ClassVar = ("desk",)


COMMAND = Command(
    name="desk",
    does="open the desk; so does zuno without a command",
    group=Group.HOUSE,
    reaches_network=False,
    intent=OpenDesk,
)
