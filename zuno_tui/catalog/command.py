"""A command, declared once: how it is written and said, what it does, and what runs it."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.positions.overview import Sources
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.session import Session
    from zuno_tui.gate.actions.action import Action
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.context import PhraseContext
    from zuno_tui.prompt.remaining import Remaining

ActionMaker: TypeAlias = "Callable[[Sources], Awaitable[Action]]"
"""Makes an action of the chain as it is when it is read."""


class Argument(Struct, frozen=True):
    """A word of a command line, or a flag where its name begins with a dash."""

    name: str
    help: str = ""
    metavar: str | None = None
    field: str = ""
    """The intent's field, where it is not called like the argument."""
    read: Callable[[str], object] | None = None
    """Makes the value from a word; a ValueError says what is wrong with it."""
    write: Callable[[Any], str] = str
    choices: tuple[str, ...] = ()
    several: bool = False
    """Whether it is one word or more."""
    joined: bool = False
    """Whether further words belong to the same text, quoted or not."""
    switch: bool = False
    """Whether a flag stands alone."""
    inherited: bool = False
    """Whether the flag may also stand before the command."""

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-")

    @property
    def value_name(self) -> str:
        return self.field or self.name.lstrip("-").replace("-", "_")

    def value_of(self, word: str) -> object:
        """A ValueError where it takes no such word."""
        value = word if self.read is None else self.read(word)
        if self.choices and value not in self.choices:
            raise ValueError(f"{word} is none of {', '.join(self.choices)}")
        return value


class OneOf(Struct, frozen=True):
    """Flags of which one may be given, or must be."""

    arguments: tuple[Argument, ...]
    required: bool = False


class Intent(Struct, frozen=True):
    """What a person asks for, whichever way it was asked; each can be written as a command."""

    command: ClassVar[tuple[str, ...]] = ()
    """The words it begins with after `zuno`."""
    arguments: ClassVar[tuple[Argument | OneOf, ...]] = ()

    @property
    def twin(self) -> str:
        """The command line that asks for the same."""
        return shlex.join(("zuno", *self.command, *self._words(), *self._flags()))

    @property
    def title(self) -> str:
        """What it is called in a list to choose from."""
        return self.twin.removeprefix("zuno ")

    @classmethod
    def defaults(cls) -> dict[str, object]:
        """By field: a word whose field has one may be left out; flags always may."""
        values = cls.__struct_defaults__
        fields = cls.__struct_fields__
        return dict(zip(fields[len(fields) - len(values) :], values, strict=True))

    @classmethod
    def from_namespace(cls, parsed: Namespace) -> Intent:
        names = [argument.value_name for argument in flat(cls.arguments)]
        values = {name: getattr(parsed, name) for name in names}
        return cls(
            **{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in values.items()
            }
        )

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Intent | None:
        """Of what follows its command as a shell takes it; None where that does not fit."""
        known = tuple(flat(cls.arguments))
        flags = {argument.name: argument for argument in known if argument.is_flag}
        places = [argument for argument in known if not argument.is_flag]
        plain, values, at = [], dict[str, object](), 0
        try:
            while at < len(words):
                name, _, value = words[at].partition("=")
                at += 1
                if not name.startswith("--"):
                    plain.append(words[at - 1])
                elif flags[name].switch:
                    values[flags[name].value_name] = True
                else:
                    at, value = (at, value) if value else (at + 1, words[at])
                    values[flags[name].value_name] = flags[name].value_of(value)
            for argument in places:
                if plain:
                    count = len(plain) if argument.several or argument.joined else 1
                    taken, plain = plain[:count], plain[count:]
                    values[argument.value_name] = (
                        tuple(map(argument.value_of, taken))
                        if argument.several
                        else argument.value_of(" ".join(taken))
                    )
            # What is left out and has no usual value is missing.
            return None if plain else cls(**values)
        except (KeyError, IndexError, ValueError, TypeError):
            return None

    def _words(self) -> Iterator[str]:
        for argument in flat(self.arguments):
            value = getattr(self, argument.value_name)
            if argument.several:
                yield from map(argument.write, value)
            elif not argument.is_flag and value is not None:
                yield argument.write(value)

    def _flags(self) -> Iterator[str]:
        usual = self.defaults()
        for argument in flat(self.arguments):
            value = getattr(self, argument.value_name)
            absent = value is None or value is False or value == usual.get(argument.value_name)
            if argument.is_flag and not absent:
                yield argument.name
                if not argument.switch:
                    yield argument.write(value)


def flat(arguments: Iterable[Argument | OneOf]) -> Iterator[Argument]:
    for each in arguments:
        if isinstance(each, OneOf):
            yield from each.arguments
        else:
            yield each


Names = Literal["positions", "candidates", "alerts", "records", "networks", "sent", "none"]
"""What of the desk may be named after a verb."""

Suggestion: TypeAlias = Intent | str
"""What the palette offers: to ask at once, or a phrase that is only put in the prompt."""


class Verb(Struct, frozen=True):
    """A way to say a command at the prompt."""

    name: str
    read: Callable[[Remaining], Intent]
    usage: str = ""
    """How it is written in the help; its name where nothing follows."""
    does: str = ""
    """What this verb does, where its command has several."""
    spoken: tuple[str, ...] = ()
    """Other ways to say it, whole."""
    names: Names = "none"
    money: bool = False
    """Leads towards a signature: it is understood exactly or not at all, and never offered as
    what a slip of the fingers may have meant."""
    possible: Callable[[PhraseContext], bool] = lambda _: True
    """Whether it makes sense just now; an impossible verb is understood, but not proposed."""

    @property
    def usage_text(self) -> str:
        return self.usage or self.name


def alone(intent: Intent, *fillers: str) -> Callable[[Remaining], Intent]:
    """Reads a verb that nothing follows but words that add nothing."""

    def read(said: Remaining) -> Intent:
        said.end(*fillers)
        return intent

    return read


class Group(IntEnum):
    """What a command is about, in the order in which they are listed."""

    POSITIONS = 0
    ACTING = 1
    WATCHING = 2
    ADVICE = 3
    TRADING = 4
    AGENTS = 5
    SETUP = 6

    @property
    def title(self) -> str:
        return "Set-up" if self is Group.SETUP else self.name.capitalize()


class Command(Struct, frozen=True, kw_only=True):
    name: str = ""
    """The last word of its intent's command where it is not called otherwise."""
    does: str
    """One sentence, without its capital and its stop, wherever the command is listed."""
    examples: tuple[str, ...] = ()
    """Whole lines, shown by --help and in the manual."""
    notes: str = ""
    """What --help explains beyond its words and flags."""
    group: Group
    intent: type[Intent] = Intent
    subcommands: tuple[Command, ...] = ()
    """Commands of their own behind this one's name, as in `zuno alerts ack`."""
    needs_subcommand: bool = False
    on_command_line: bool = True
    takes_shared_flags: bool = True
    """Whether network, wallet and home can be named for it."""
    reaches_network: bool = True
    """Whether it speaks to a chain, or reads what was kept of one: then it may be the demo's."""

    answer: Callable[[Session, Any], Coroutine[Any, Any, CommandAnswer]] | None = None
    """Reads and answers in lines or as a document; at the desk it is a page."""
    tells_old_block: bool = False
    """Whether it answers with the last block's figures where no endpoint has a new one."""
    action: Callable[[Session, Any], ActionMaker | None] | None = None
    """What is to be built and approved; at the desk it goes on the card. None only answers."""
    only_on: tuple[str, ...] = ()
    """The protocols whose positions it can be asked about; of all of them where none is named."""
    run: Callable[[Namespace], int] | None = None
    """Anything else on the command line."""

    verbs: tuple[Verb, ...] = ()
    suggest: Callable[[PhraseContext], Iterable[Suggestion]] = lambda _: ()
    """What of it the palette offers just now."""
    key: str = ""
    """The id of the desk's key for it, as settings take it in [keys]."""

    def __post_init__(self) -> None:
        if not self.name:
            force_setattr(self, "name", self.intent.command[-1])


def with_positions(context: PhraseContext) -> bool:
    return bool(context.positions)


def with_plan(context: PhraseContext) -> bool:
    return context.plan_id is not None


def with_alerts(context: PhraseContext) -> bool:
    return bool(context.alerts)


def with_sent(context: PhraseContext) -> bool:
    return bool(context.sent)


def of_selected(
    make: Callable[[PositionRef], Suggestion], *, on: tuple[str, ...] = ()
) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the position under the cursor, where that can be done on its protocol."""

    def offered(context: PhraseContext) -> Iterable[Suggestion]:
        ref = context.selected
        return () if ref is None or (on and ref.protocol not in on) else (make(ref),)

    return offered


def of_plan(make: Callable[[str], Suggestion]) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the plan on the card, where somebody argued for it."""
    return lambda context: (
        () if context.plan_id is None or not context.argued else (make(context.plan_id),)
    )


def always(*offered: Suggestion) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    return lambda _: offered
