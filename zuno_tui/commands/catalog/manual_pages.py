"""The manual page in roff, from the same declarations as the command line itself."""

from collections.abc import Iterator

from zuno_tui.catalog.command import Command, Group, flat
from zuno_tui.catalog.registry import registry
from zuno_tui.present.answer import CommandAnswer

_TITLES = {
    Group.POSITION: "Positions",
    Group.PLAN: "Plans",
    Group.WALLET: "Wallet",
    Group.WATCH: "Watching",
    Group.DESK: "The desk",
    Group.HOUSE: "Everything else",
}
_CODES = ("0 done", "1 failed", "2 usage", "3 refused by policy", "4 network")


def manual_page() -> CommandAnswer:
    lines = tuple(_lines())
    return CommandAnswer(lines, {"manual": "\n".join(lines)}, exact=True)


def _lines() -> Iterator[str]:
    from importlib.metadata import version

    # A date of its own would be another one at each build: the release stands for it.
    yield f'.TH ZUNO 1 "zuno {version("zuno-tui")}" "zuno" "User Commands"'
    yield from (".SH NAME", r"zuno \- a terminal desk for providers of liquidity on Uniswap v4")
    yield from (".SH SYNOPSIS", ".B zuno", r"[\fICOMMAND\fR] [\fIFLAGS\fR]")
    yield from (".SH DESCRIPTION", "Without a command it opens the desk.")
    yield "Data goes to standard output, words go to standard error."
    for group, title in _TITLES.items():
        yield f'.SH "{title.upper()}"'
        for command in registry().on_command_line():
            if command.group is group:
                yield from _command(command)
    yield from (".SH EXIT STATUS", ", ".join(_CODES) + ".")


def _command(command: Command) -> Iterator[str]:
    usual = command.intent.defaults()
    words = " ".join(
        f"[{argument.metavar or argument.name}]"
        if argument.value_name in usual
        else (argument.metavar or argument.name.upper())
        for argument in flat(command.intent.arguments)
        if not argument.is_flag
    )
    yield ".TP"
    yield f'.B "{_escaped(f"zuno {command.name} {words}".strip())}"'
    yield _escaped(f"{command.does[0].upper()}{command.does[1:]}.")
    for argument in flat(command.intent.arguments):
        if argument.help:
            yield ".br"
            yield _escaped(
                f"{argument.name if argument.is_flag else argument.metavar or argument.name}: "
                f"{argument.help}"
            )
    for example in command.examples:
        yield ".br"
        yield _escaped(f"Example: {example}")


def _escaped(text: str) -> str:
    r"""A backslash, a hyphen or a leading dot would be read as roff."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
