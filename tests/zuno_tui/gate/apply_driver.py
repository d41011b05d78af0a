"""A process that runs one command of zuno's and may be killed at any moment of it."""

from __future__ import annotations

import os
import sys

# What `apply` imports lazily, so that a child of the fork server starts at once.
import zuno_tui.commands.running.apply
import zuno_tui.commands.running.outbox
import zuno_tui.gate.apply  # noqa: F401
from zuno_tui.cli import main


def run_command(arguments: tuple[str, ...], told: str) -> None:
    """Exit as the command does, with whatever it says in a file."""
    descriptor = os.open(told, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    sys.exit(main(list(arguments)))
