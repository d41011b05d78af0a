"""The command line's parser, made from the commands' declarations."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from zuno_tui.catalog.command import Command
from zuno_tui.cli.help import examples_of, overview
from zuno_tui.intents.arguments import DESK_FLAGS
from zuno_tui.intents.intent import Argument, OneOf, flat

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_NO_CHOICE = re.compile(
    r"argument (?P<what>\S+): invalid choice: '(?P<typed>.*?)' \(choose from (?P<known>.*)\)"
)
_NO_FLAG = re.compile(r"unrecognized arguments: (?P<typed>--\S+).*")
_SHARED_FLAGS = (
    *("--network", "--rpc", "--address", "--unit", "--alone", "--transactions", "--home"),
    "--json",
)


class DiscreetParser(argparse.ArgumentParser):
    """Complains without quoting what looks like a key."""

    def error(self, message: str) -> NoReturn:
        from chain.base.clean_text import LIKE_A_KEY

        super().error(LIKE_A_KEY.sub("(hidden)", self._nearer(message)))

    def _nearer(self, message: str) -> str:
        """With what may have been meant in place of a list of everything there is."""
        from chain.base.spelling import nearest

        unknown = _NO_CHOICE.fullmatch(message)
        if unknown is not None:
            known = [choice.strip(" '") for choice in unknown["known"].split(",")]
            meant = nearest(unknown["typed"], known)
            if unknown["what"] == "COMMAND":
                told = f"there is no command {unknown['typed']!r}"
                return f"{told}. {_meant(meant)}All of them: zuno --help"
            return f"{message}. {_meant(meant)}".rstrip() if meant else message
        flags = _NO_FLAG.fullmatch(message)
        if flags is not None:
            known_flags = (*self._option_string_actions, *_SHARED_FLAGS)
            meant = nearest(flags["typed"], known_flags)
            return f"{message}. {_meant(meant)}".rstrip()
        return message


class _MainParser(DiscreetParser):
    """With the commands by what they are for in place of one list of them all."""

    def __init__(self, commands: Iterable[Command]) -> None:
        super().__init__(prog="zuno", parents=[_shared_flags(None)])
        self._commands = commands

    def format_help(self) -> str:
        return overview(self._commands)


def _meant(found: str | None) -> str:
    return "" if found is None else f"Did you mean {found}? "


def build_parser(commands: Iterable[Command]) -> argparse.ArgumentParser:
    """What is parsed names its command in `chosen`, None where none was given."""
    commands = tuple(commands)
    parser: argparse.ArgumentParser = _MainParser(commands)
    parser.set_defaults(chosen=None)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    for flag in DESK_FLAGS:
        _add(parser.add_argument, flag, {}, inherited=False)
    # A flag may stand before or after the command; suppressed, the second does not undo the first.
    shared = _shared_flags(argparse.SUPPRESS)
    _add_commands(
        parser.add_subparsers(metavar="COMMAND", parser_class=DiscreetParser),
        commands,
        shared,
    )
    return parser


def _add_commands(
    parsers: Parsers,
    commands: Iterable[Command],
    shared: argparse.ArgumentParser,
) -> None:
    for command in commands:
        examples = "\n".join(("examples:", *(f"  {line}" for line in examples_of(command))))
        parts = (command.notes, examples)
        parser = parsers.add_parser(
            command.name,
            parents=[*([shared] if command.takes_shared_flags else []), _desk_flags(command)],
            help=command.does.replace("%", "%%"),
            description=f"{command.does[0].upper()}{command.does[1:]}.",
            epilog="\n\n".join(filter(None, parts)) or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(chosen=command)
        usual = command.intent.defaults()
        for each in command.intent.arguments:
            if isinstance(each, OneOf):
                group = parser.add_mutually_exclusive_group(required=each.required)
                for argument in each.arguments:
                    _add(group.add_argument, argument, usual)
            else:
                _add(parser.add_argument, each, usual)
        if command.subcommands:
            actions = parser.add_subparsers(
                metavar="|".join(action.name for action in command.subcommands),
                required=command.needs_subcommand,
            )
            _add_commands(actions, command.subcommands, shared)


def _add(
    add: Callable[..., argparse.Action],
    argument: Argument,
    usual: Mapping[str, object],
    *,
    inherited: bool | None = None,
) -> None:
    from_before = argument.inherited if inherited is None else inherited
    # A percent sign is a placeholder to argparse.
    options: dict[str, object] = {"help": argument.help.replace("%", "%%") or None}
    if argument.is_flag:
        options["dest"] = argument.value_name
        absent = usual.get(argument.value_name, False if argument.switch else None)
        options["default"] = argparse.SUPPRESS if from_before else absent
    if argument.switch:
        options["action"] = "store_true"
    else:
        options["metavar"] = argument.metavar
        if argument.choices:
            options["choices"] = argument.choices
        if argument.read is not None:
            options["type"] = _typed(argument.read)
        if argument.value_name in usual and not argument.is_flag:
            options["nargs"] = "*" if argument.several else "?"
        elif argument.several:
            options["nargs"] = "+"
        elif argument.joined:
            options["nargs"], options["action"] = "+", _Joined
    add(argument.name, **options)


class _Joined(argparse.Action):
    """Several words as the one text that they are."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[str] | None,
        _option: str | None = None,
    ) -> None:
        words = (values,) if isinstance(values, str) else values or ()
        setattr(namespace, self.dest, " ".join(words))


def _typed(read: Callable[[str], object]) -> Callable[[str], object]:
    def parse(text: str) -> object:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def _desk_flags(command: Command) -> argparse.ArgumentParser:
    """Of how things are drawn and argued: taken wherever they are typed, where it has no own."""
    own = {argument.name for argument in flat(command.intent.arguments)}
    flags = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    for flag in DESK_FLAGS:
        if flag.name not in own:
            _add(flags.add_argument, flag, {}, inherited=True)
    for action in flags._actions:
        action.help = argparse.SUPPRESS
    return flags


def _shared_flags(absent: str | None) -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False, argument_default=absent)
    shared.add_argument("--network", metavar="NAME", help="which network, by name or chain id")
    shared.add_argument("--rpc", metavar="URL", help="endpoints for this run, comma-separated")
    shared.add_argument("--address", metavar="0x…", help="whose positions; or an ENS name")
    shared.add_argument("--unit", choices=("usd", "eth"), help="show values in this")
    shared.add_argument(
        "--alone",
        action="store_const",
        const=True,
        help="trust one endpoint where others do not answer",
    )
    shared.add_argument(
        "--transactions",
        choices=("auto", "one", "steps"),
        help="send a plan as one transaction, where the account is delegated, or in steps",
    )
    shared.add_argument("--home", metavar="DIR", type=Path, help="instead of ~/.zuno")
    shared.add_argument(
        "--json", action="store_const", const=True, help="data for programs on stdout"
    )
    return shared
