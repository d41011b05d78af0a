"""What a shell is given, made from the registry: scripts that complete commands, the manual."""

from collections.abc import Iterator
from time import time

from zuno_tui import RELEASED
from zuno_tui.app.session import Session
from zuno_tui.catalog.command import Command, Group
from zuno_tui.catalog.registry import registry
from zuno_tui.intents.intent import flat
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.settings import SettingsError

_SHARED = ("--network", "--rpc", "--address", "--unit", "--alone", "--home", "--json", "--help")
_ASK_IDS = "zuno completion ids 2>/dev/null"

_BASH = """\
# In ~/.bashrc: source <(zuno completion bash)
_zuno() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "$command" in
{cases}
    esac
}}
complete -F _zuno zuno
"""
_ZSH = """\
#compdef zuno
# In ~/.zshrc: source <(zuno completion zsh)
autoload -Uz compinit && compinit -C
autoload -Uz bashcompinit && bashcompinit
{bash}"""


def completion_script(shell: str) -> CommandAnswer:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return CommandAnswer(tuple(script.splitlines()), {"shell": shell, "script": script}, exact=True)


def known_positions(session: Session) -> CommandAnswer:
    """Those a wallet was last seen to hold; nothing is asked of a chain while somebody types."""
    ids: list[int] = []
    try:
        ids = _ids(session)
    except (SettingsError, OSError):
        # A shell that completes shows no error: it has nothing to offer.
        ids = []
    return CommandAnswer(tuple(map(str, ids)), {"ids": [str(number) for number in ids]})


def _ids(session: Session) -> list[int]:
    from chain.protocols.v4.memory import PositionMemory

    with session.open_store() as store:
        memory = PositionMemory(store, session.network, time)
        checkpoints = memory.checkpoints(session.address)
        held = checkpoints[-1].held if checkpoints else ()
        return sorted({*held, *memory.named_positions(session.address)})


def _bash() -> str:
    commands = tuple(registry().on_command_line())
    cases = "\n".join(map(_bash_case, commands))
    return _BASH.format(commands=" ".join(command.name for command in commands), cases=cases)


def _bash_case(command: Command) -> str:
    ids = f" $({_ASK_IDS})" if takes_position(command) else ""
    words = " ".join((*words_after(command), *flags_of_command(command)))
    return f'        {command.name}) COMPREPLY=($(compgen -W "{words}{ids}" -- "$word")) ;;'


def _zsh() -> str:
    return _ZSH.format(bash=_bash())


def _fish() -> str:
    lines = ["# In ~/.config/fish/completions/zuno.fish", "complete -c zuno -f"]
    for command in registry().on_command_line():
        seen = f'"__fish_seen_subcommand_from {command.name}"'
        lines.append(
            f'complete -c zuno -n __fish_use_subcommand -a {command.name} -d "{command.does}"'
        )
        lines += [
            f"complete -c zuno -n {seen} -l {flag.removeprefix('--')}"
            for flag in flags_of_command(command)
        ]
        lines += [f"complete -c zuno -n {seen} -a {word}" for word in words_after(command)]
        if takes_position(command):
            lines.append(f'complete -c zuno -n {seen} -a "({_ASK_IDS})"')
    return "\n".join(lines)


def takes_position(command: Command) -> bool:
    words = flat(command.intent.arguments)
    return any(word.metavar == "ID" or word.name == "refs" for word in words)


def words_after(command: Command) -> tuple[str, ...]:
    choices = (
        choice
        for argument in flat(command.intent.arguments)
        if not argument.is_flag
        for choice in argument.choices
    )
    return (*(action.name for action in command.subcommands), *choices)


def flags_of_command(command: Command) -> tuple[str, ...]:
    own = tuple(argument.name for argument in flat(command.intent.arguments) if argument.is_flag)
    return (*own, *(_SHARED if command.takes_shared_flags else ("--help",)))


_CODES = ("0 done", "1 failed", "2 usage", "3 refused by policy", "4 network")


def manual_page() -> CommandAnswer:
    lines = tuple(_lines())
    return CommandAnswer(lines, {"manual": "\n".join(lines)}, exact=True)


def _lines() -> Iterator[str]:
    from importlib.metadata import version

    yield f'.TH ZUNO 1 "{RELEASED}" "zuno {version("zuno-tui")}" "User Commands"'
    yield from (".SH NAME", r"zuno \- a terminal desk for providers of liquidity on Uniswap v4")
    yield from (".SH SYNOPSIS", ".B zuno", r"[\fICOMMAND\fR] [\fIFLAGS\fR]")
    yield from (".SH DESCRIPTION", "Without a command it opens the desk.")
    yield "Data goes to standard output, words go to standard error."
    for group in Group:
        yield f'.SH "{group.title.upper()}"'
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
