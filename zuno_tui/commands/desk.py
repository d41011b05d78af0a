"""`zuno` alone, or `zuno desk`: the desk, on the network and wallet that are set."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Intent


class OpenDesk(Intent, frozen=True):
    command: ClassVar = ("desk",)


class DeskChoices(Intent, frozen=True):
    """What can be chosen of how a desk looks and argues, whatever else opens it."""

    theme: str | None = None
    ascii: bool = False
    no_bell: bool = False
    deterministic: bool = False
    transport: str | None = None


COMMAND = Command(
    does="open the desk, as zuno does without a command",
    group=Group.SETUP,
    reaches_network=False,
    intent=OpenDesk,
)
