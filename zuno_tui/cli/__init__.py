"""The command line: `zuno COMMAND`, one module a command, imported only when it runs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from zuno_tui.shown.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

DESK = "desk"
"""What opens where no command is named."""
_COMMANDS = {
    DESK: "cli.desk",
    "positions": "commands.positions",
    "inspect": "commands.inspect_position",
    "pools": "commands.pools",
    "balances": "commands.balances",
    "recommend": "commands.recommend",
    "create": "commands.create",
    "plan": "commands.plan",
    "explain": "commands.explain",
    "replay": "commands.replay",
    "diff": "commands.diff",
    "simulate": "commands.simulate",
    "approve": "commands.approve",
    "apply": "commands.apply",
    "collect": "commands.collect",
    "compound": "commands.compound",
    "increase": "commands.increase",
    "decrease": "commands.decrease",
    "close": "commands.close",
    "wrap": "commands.wrap",
    "unwrap": "commands.unwrap",
    "revoke": "commands.revoke",
    "export": "commands.export",
    "outbox": "commands.outbox",
    "exit-drill": "commands.exit_drill",
    "alerts": "commands.alerts",
    "monitor": "commands.monitor",
    "doctor": "commands.doctor",
    "locate": "commands.locate",
    "wallet": "commands.wallet",
    "demo": "cli.demo",
    "devnet": "commands.devnet",
}


def main(arguments: Sequence[str] | None = None) -> int:
    from zuno_tui.commands.arguments import build_parser

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
    from zuno_tui.shown.failures import explain

    command = import_module(f"zuno_tui.{_COMMANDS[chosen.command or DESK]}")
    try:
        if chosen.address is not None and "." in chosen.address:
            from zuno_tui.session.names import address_flag

            chosen.address = address_flag(chosen)
        return int(command.run(chosen))
    except Exception as error:
        code, words = explain(error)
        sys.stderr.write(words + "\n")
        return code


def _print_version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"zuno {version('zuno-tui')}\n")
    return DONE
