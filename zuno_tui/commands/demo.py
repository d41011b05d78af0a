"""`zuno demo`: the desk on the embedded chain, with no key, no model and no network."""

from __future__ import annotations

from typing import ClassVar

from zuno_tui.commands.arguments import DESK_FLAGS
from zuno_tui.commands.command import Argument, Command, Group, Intent


class OpenDemo(Intent, frozen=True):
    command: ClassVar = ("demo",)
    arguments: ClassVar = (
        Argument("--text", "print the demo's positions, no screen", switch=True, default=False),
        *DESK_FLAGS,
    )

    text: bool = False
    theme: str | None = None
    ascii: bool = False
    no_bell: bool = False
    deterministic: bool = False
    transport: str | None = None


COMMAND = Command(
    name="demo",
    does="the desk on the embedded chain",
    group=Group.HOUSE,
    reaches_network=False,
    intent=OpenDemo,
)
