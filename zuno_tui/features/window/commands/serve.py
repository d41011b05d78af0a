"""`zuno serve`: the desk in a browser on this machine, for looks alone."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Argument, Intent

DEFAULT_PORT = 8466
_LOWEST, _HIGHEST = 1024, 65_535


def _read_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and _LOWEST <= int(text) <= _HIGHEST):
        raise ValueError(f"a port is a number from {_LOWEST} to {_HIGHEST}, not {text!r}")
    return int(text)


class ServeWindow(Intent, frozen=True):
    command: ClassVar = ("serve",)
    arguments: ClassVar = (
        Argument("--port", "where on this machine", metavar="PORT", read=_read_port),
    )

    port: int = DEFAULT_PORT


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.window.server import serve

    return serve(arguments)


COMMAND = Command(
    does="show the desk in a browser on this machine, for looks alone",
    notes="Whoever has the address it prints may look; nobody can act. One viewer at a time.",
    group=Group.SETUP,
    intent=ServeWindow,
    run=_run,
)
