"""The command line: `zuno COMMAND`, one module a command, imported only when it runs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

DONE, FAILED, USAGE, REFUSED, NETWORK = range(5)

DESK = "desk"
"""What opens where no command is named."""
_COMMANDS = {
    DESK: "desk",
    "positions": "positions",
    "inspect": "inspect_position",
    "pools": "pools",
    "balances": "balances",
    "recommend": "recommend",
    "create": "create",
    "plan": "plan",
    "explain": "explain",
    "replay": "replay",
    "diff": "diff",
    "simulate": "simulate",
    "approve": "approve",
    "apply": "apply",
    "collect": "collect",
    "compound": "compound",
    "increase": "increase",
    "decrease": "decrease",
    "close": "close",
    "wrap": "wrap",
    "unwrap": "unwrap",
    "revoke": "revoke",
    "export": "export",
    "outbox": "outbox",
    "exit-drill": "exit_drill",
    "alerts": "alerts",
    "monitor": "monitor",
    "doctor": "doctor",
    "locate": "locate",
    "wallet": "wallet",
    "demo": "demo",
    "devnet": "devnet",
}


def main(arguments: Sequence[str] | None = None) -> int:
    from zuno_tui.cli.arguments import build_parser

    chosen = build_parser().parse_args(arguments)
    if chosen.version:
        return _print_version()
    try:
        return _run(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        return FAILED
    except BrokenPipeError:
        # `zuno positions | head` is no fault; without this Python complains at exit.
        sys.stdout = None
        return DONE


def _run(chosen: Namespace) -> int:
    from zuno_tui.cli.failures import explain

    command = import_module(f"zuno_tui.cli.{_COMMANDS[chosen.command or DESK]}")
    try:
        return int(command.run(chosen))
    except Exception as error:
        code, words = explain(error)
        sys.stderr.write(words + "\n")
        return code


def _print_version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"zuno {version('zuno-tui')}\n")
    return DONE
