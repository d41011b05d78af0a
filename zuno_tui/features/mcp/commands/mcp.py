"""`zuno mcp`: serve what zuno reads to other agents, on standard input and output."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group, Intent


class ServeMcp(Intent, frozen=True):
    command: ClassVar = ("mcp",)


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.mcp.server import serve

    return serve(arguments)


COMMAND = Command(
    does="serve what zuno reads to other agents (MCP over stdio)",
    notes="Reads alone: nothing there approves, signs, sends or changes a setting.",
    group=Group.HOUSE,
    intent=ServeMcp,
    reaches_network=False,
    run=_run,
)
