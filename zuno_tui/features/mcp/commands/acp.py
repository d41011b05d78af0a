"""`zuno acp`: the agents in an editor, on standard input and output."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Intent


class ServeAcp(Intent, frozen=True):
    command: ClassVar = ("acp",)


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.mcp.editor_agent import serve_editor

    return serve_editor(arguments)


COMMAND = Command(
    does="ask zuno's agents in an editor (ACP)",
    notes="Looks and debates alone: whatever acts is named as the line to type at the desk.",
    group=Group.AGENTS,
    intent=ServeAcp,
    reaches_network=False,
    run=_run,
)
