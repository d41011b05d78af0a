"""What `zuno --help` and `zuno help TOPIC` print: commands by what they are for, a line each."""

from collections.abc import Iterable, Iterator

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Argument, OneOf

_USUAL = (
    *("demo", "positions", "inspect", "recommend", "approve", "apply"),
    *("collect", "close", "alerts", "monitor"),
)
_NAME_CELLS = 13
_FLAGS = """\
For every command
  --network NAME   which network, by name or chain id
  --address 0x…    whose positions, also an ENS name
  --rpc URL        endpoints for this run, comma-separated
  --json           print JSON
  --unit usd|eth   show values in this
  --home DIR       where settings and keys are kept
  More flags: zuno desk --help"""
_SAMPLES = {
    "ID": "28",
    "ID|all": "28",
    "SYMBOL": "WETH",
    "AMOUNT": "0.5",
    "PERCENT": "50",
    "PLAN": "",
    "RECORD": "records/2026-11-18.jsonl",
    "WALLET": "cold",
    "ADDRESS": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "NUMBER": "1",
    "FILE": "order-1.json",
    "TERM": "LVR",
}
"""What an example puts in place of an argument."""


def overview(commands: Iterable[Command]) -> str:
    known = {command.name: command for command in commands}
    usual = [known[name] for name in _USUAL if name in known]
    rest = [command for command in known.values() if command not in usual]
    parts = [
        "zuno [COMMAND] [FLAGS]",
        "A terminal desk for people who provide liquidity on Uniswap. Without a command it opens "
        "the\ndesk; `zuno demo` shows everything on a chain of its own.",
        "\n".join(["The usual ones", *map(_line, usual)]),
        *(
            "\n".join([group.title, *(_line(each) for each in rest if each.group is group)])
            for group in Group
        ),
        _FLAGS,
        "zuno help COMMAND   its flags and examples     zuno help acting   one group of commands\n"
        "stdout is data, stderr is words. Exit codes: 0 done, 1 failed, 2 usage, 3 refused by "
        "policy,\n4 network.",
    ]
    return "\n\n".join(parts) + "\n"


def group_page(group: Group, commands: Iterable[Command]) -> str:
    lines = [group.title]
    for command in commands:
        if command.group is group:
            lines += [
                "",
                _line(command),
                *(f"  {'':{_NAME_CELLS}}{each}" for each in examples_of(command)),
            ]
    return "\n".join(lines) + "\n"


def group_called(word: str) -> Group | None:
    plain = word.lower().replace("-", "")
    return next((group for group in Group if group.name.lower() == plain), None)


def examples_of(command: Command) -> tuple[str, ...]:
    """Those that are written, or the plainest line there is."""
    if command.examples:
        return command.examples
    if command.subcommands:
        return tuple(line for each in command.subcommands for line in examples_of(each)[:1])
    words = ["zuno", *command.intent.command, *_needed(command.intent.arguments)]
    return (" ".join(words),)


def _needed(arguments: Iterable[Argument | OneOf]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, OneOf) or argument.is_flag:
            continue
        sample = argument.choices[0] if argument.choices else _SAMPLES.get(argument.metavar or "")
        if sample:
            yield sample


def _line(command: Command) -> str:
    return f"  {command.name:{_NAME_CELLS}}{command.does}"
