"""The command line: `zuno COMMAND`; what a command needs is imported only when it runs."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zuno_tui.cli.output import flush_output
from zuno_tui.present.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from zuno_tui.catalog.command import Command


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if list(words[:1]) == ["help"] or list(words) in (["--help"], ["-h"]):
        return _help(words[1:])
    from zuno_tui.cli.parser import build_parser

    code: int = DONE
    try:
        parsed = build_parser(_commands_for(words)).parse_args(words)
        code = _print_version() if parsed.version else _run(parsed)
    except SystemExit:
        # argparse has printed its help, or what it does not understand.
        flush_output(code)
        raise
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        code = FAILED
    except BrokenPipeError:
        # `zuno positions | head` is no fault.
        code = DONE
    return flush_output(code)


def _help(topic: Sequence[str]) -> int:
    """Of a command as its `--help`, of a group its commands with examples, else of everything."""
    from zuno_tui.catalog.registry import registry
    from zuno_tui.cli.help import group_called, group_page, overview

    group = group_called(topic[0]) if topic else None
    if topic and group is None:
        return main([*topic, "--help"])
    commands = registry().on_command_line()
    sys.stdout.write(overview(commands) if group is None else group_page(group, commands))
    return flush_output(DONE)


def _commands_for(words: Sequence[str]) -> Iterable[Command]:
    """The one that is named first, or else all: most of a short command's time is their loading."""
    from zuno_tui.catalog.registry import command_named, registry

    named = command_named(words[0]) if words else None
    if named is not None and named.on_command_line:
        return (named,)
    return registry().on_command_line()


def _run(parsed: Namespace) -> int:
    from zuno_tui.present.failures import explain

    try:
        if parsed.address is not None and "." in parsed.address:
            from zuno_tui.app.portfolio import address_flag

            parsed.address = address_flag(parsed)
        return _run_command(parsed.chosen, _at_demo(parsed))
    except BrokenPipeError:
        raise
    except Exception as error:
        code, words = explain(error)
        sys.stderr.write(words + "\n")
        return code


def _at_demo(parsed: Namespace) -> Namespace:
    """With nothing else chosen, commands that read or order speak to the demo that runs."""
    command: Command | None = parsed.chosen
    if command is None or not command.reaches_network:
        return parsed
    import os

    from chain.base.home import Home
    from zuno_tui.app.demo_place import at_running_demo
    from zuno_tui.app.session import say

    found = at_running_demo(parsed, Home.locate(os.environ, parsed.home), os.environ)
    if found is None:
        return parsed
    there, place = found
    say(place.words)
    return there


def _run_command(command: Command | None, parsed: Namespace) -> int:
    words = ("desk",) if command is None else command.intent.command
    if command is None or words in (("desk",), ("init",)):
        from zuno_tui.cli import desk

        return desk.run(parsed, asks=words == ("init",))
    if words == ("look",):
        from zuno_tui.cli import desk

        return desk.run_looking(parsed)
    _refuse_other_protocols(command, parsed)
    if words == ("demo",):
        from zuno_tui.cli import demo

        return demo.run(parsed)
    if command.run is not None:
        return command.run(parsed)
    from zuno_tui.commands.catalog.run_in_session import run_in_session

    return run_in_session(command, parsed)


def _refuse_other_protocols(command: Command, parsed: Namespace) -> None:
    """Where a position is named that the command is not for."""
    if not command.only_on:
        return
    from zuno_tui.catalog.only_read import refuse_other_protocols

    refuse_other_protocols(command, command.intent.from_namespace(parsed))


def _print_version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"zuno {version('zuno-tui')}\n")
    return DONE
