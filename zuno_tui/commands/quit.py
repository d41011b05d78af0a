"""`quit`: close the desk."""

from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.catalog.intents import Quit

COMMAND = Command(
    name="quit",
    does="close the desk",
    group=Group.DESK,
    intent=Quit,
    on_command_line=False,
    verbs=(Verb("quit", alone(Quit(), "zuno", "desk"), spoken=("bye", "goodbye", ":q", "q")),),
    key="desk.quit",
)
