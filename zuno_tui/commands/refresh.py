"""`refresh`: the desk reads everything again."""

from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.catalog.intents import Refresh

COMMAND = Command(
    name="refresh",
    does="read everything again",
    group=Group.DESK,
    intent=Refresh,
    on_command_line=False,
    verbs=(
        Verb(
            "refresh",
            alone(Refresh(), "everything", "all", "positions", "screen"),
            spoken=("reload", "update"),
        ),
    ),
    suggest=always(Refresh()),
    key="desk.refresh",
)
