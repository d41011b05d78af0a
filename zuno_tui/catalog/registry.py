"""Every command, found by its file, a feature's too; lists of commands are made here alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from zuno_tui.app.feature import features
from zuno_tui.catalog.command import Command, Group, Suggestion, Verb
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from zuno_tui.intents.context import PhraseContext

_MOST_WORDS = 6
_TABLES = ("desk_actions", "position_actions", "wallet_actions")
"""Files that hold several commands."""


class CommandRegistry:
    """What the command line, the prompt, its completion, the palette and the help are made of."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands = tuple(sorted(commands, key=_place))
        every = tuple(_with_subcommands(self.commands))
        self._by_intent = {command.intent: command for command in every}
        self._by_verb = {verb.name: command for command in every for verb in command.verbs}
        self._by_words = {
            tuple(phrase.split()): verb
            for command in every
            for verb in command.verbs
            for phrase in (verb.name, *verb.spoken)
        }
        self.verbs = tuple(verb for command in every for verb in command.verbs)
        self._by_path = {
            command.intent.command: command
            for command in every
            if command.on_command_line and command.intent.command
        }

    def on_command_line(self) -> Iterator[Command]:
        return (command for command in self.commands if command.on_command_line)

    def command_of(self, intent: Intent) -> Command:
        return self._by_intent[type(intent)]

    def verb_at_start(self, words: Sequence[str]) -> tuple[Verb, int] | None:
        """The verb with most words that a phrase begins with, and how many they are."""
        lowered = tuple(word.lower() for word in words[:_MOST_WORDS])
        for count in range(len(lowered), 0, -1):
            if (verb := self._by_words.get(lowered[:count])) is not None:
                return verb, count
        return None

    def shell_intent(self, words: Sequence[str], said: int = 0) -> Intent | None:
        """What a command line asks for that is written as a shell takes it; None for any other.

        Where a verb of so many words was said, only what goes beyond it: a further command or a
        flag.
        """
        least = 1 if any(word.startswith("--") for word in words) else said + 1
        for count in range(min(len(words), _MOST_WORDS), least - 1, -1):
            command = self._by_path.get(tuple(words[:count]))
            if command is not None:
                alone = _is_for_shell(command)
                return None if alone else command.intent.from_words(words[count:])
        return None

    def shell_only(self, words: Sequence[str]) -> str:
        """The command these words begin with, where it runs in a shell and not at the desk."""
        for count in (2, 1):
            command = self._by_path.get(tuple(words[:count]))
            if command is not None and _is_for_shell(command):
                return " ".join(command.intent.command)
        return ""

    def paths(self, *, for_shell: bool = False) -> dict[tuple[str, ...], Command]:
        """Commands by the words that they are typed with; those alone that only a shell runs."""
        every = self._by_path.items()
        return {path: command for path, command in every if not for_shell or _is_for_shell(command)}

    def path_of(self, line: str) -> tuple[str, ...]:
        """The command that a line begins with, however it is written there."""
        words = tuple(line.split())
        for count in (2, 1):
            if words[:count] in self._by_path:
                return words[:count]
        found = self.verb_at_start(words)
        return () if found is None else self._by_verb[found[0].name].intent.command

    def verb_named(self, name: str) -> Verb | None:
        return self._by_words.get(tuple(name.lower().split()))

    def phrases(self) -> dict[str, Verb]:
        """Everything a phrase may begin with."""
        return {" ".join(words): verb for words, verb in self._by_words.items()}

    def does(self, verb: Verb) -> str:
        return verb.does or self._by_verb[verb.name].does

    def name_of(self, intent: Intent) -> str:
        return self.command_of(intent).name

    def purpose(self, verb_name: str) -> str:
        return self.does(self._by_words[tuple(verb_name.split())])

    def group_of(self, verb: Verb) -> Group:
        return self._by_verb[verb.name].group

    def key_of(self, verb: Verb) -> str:
        """The id of its command's key at the desk; empty where it has none."""
        return self._by_verb[verb.name].key

    def suggestions(self, context: PhraseContext) -> Iterator[tuple[Suggestion, Command]]:
        """What the palette offers now, each with the command it is of."""
        for command in _with_subcommands(self.commands):
            for suggestion in command.suggest(context):
                yield suggestion, command


@cache
def registry() -> CommandRegistry:
    return CommandRegistry(command for _, module in _modules() for command in _commands_in(module))


def command_named(name: str) -> Command | None:
    """By its file alone, so that running one command loads few others."""
    wanted = name.replace("-", "_")
    likely = (module for file, module in _modules() if file in (wanted, *_TABLES))
    found = (command for module in likely for command in _commands_in(module))
    return next((command for command in found if command.name == name), None)


def _modules() -> Iterator[tuple[str, str]]:
    """The files in which commands may be, each with its module's whole name."""
    own = (f"zuno_tui.features.{feature.name}.commands" for feature in features())
    for folder in ("zuno_tui.commands", *own):
        found = iter_modules(import_module(folder).__path__)
        yield from ((file.name, f"{folder}.{file.name}") for file in found if not file.ispkg)


def _commands_in(name: str) -> tuple[Command, ...]:
    module = import_module(name)
    if hasattr(module, "COMMANDS"):
        return tuple(module.COMMANDS)
    command = getattr(module, "COMMAND", None)
    return (command,) if isinstance(command, Command) else ()


def _is_for_shell(command: Command) -> bool:
    return not command.verbs and command.answer is None and command.action is None


def _place(command: Command) -> tuple[int, bool, str]:
    """By what it is about; what leads to a signature comes after what only looks."""
    return command.group, command.action is not None, command.name


def _with_subcommands(commands: Iterable[Command]) -> Iterator[Command]:
    for command in commands:
        yield command
        yield from command.subcommands
