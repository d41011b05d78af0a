"""`zuno look`: the desk as a window, which shows and does nothing."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Intent


class OpenWindow(Intent, frozen=True):
    command: ClassVar = ("look",)


COMMAND = Command(
    does="open the desk to look alone: nothing in it approves, signs or argues",
    notes="It opens no key, carries out no order and asks no model. In a browser: zuno serve",
    group=Group.SETUP,
    intent=OpenWindow,
)
