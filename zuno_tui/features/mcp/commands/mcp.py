"""`zuno mcp`: serve what zuno reads to other agents, on standard input and output."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Intent


class ServeMcp(Intent, frozen=True):
    command: ClassVar = ("mcp",)


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.mcp.server import serve

    return serve(arguments)


COMMAND = Command(
    does="let other agents read what zuno reads (MCP)",
    notes="Reads alone: nothing there approves, signs, sends or changes a setting.",
    group=Group.AGENTS,
    intent=ServeMcp,
    reaches_network=False,
    run=_run,
)
