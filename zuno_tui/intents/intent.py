"""What a person asks for, and the words and flags that it is written with."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.protocols.reference import PositionRef


def read_ref(text: str) -> PositionRef:
    from chain.protocols.reference import read_position_ref

    ref = read_position_ref(text)
    if ref is None:
        raise ValueError(f"{text!r} is not a position's number, like 7 or #7, or 3:7 for one of v3")
    return ref


def write_ref(ref: PositionName) -> str:
    from chain.protocols.reference import position_name

    return ref if isinstance(ref, str) else position_name(ref)


PositionName: TypeAlias = "PositionRef | Literal['all']"


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
    besides: tuple[str, ...] = ()
    """Words that it takes too, where most of what it takes cannot be listed."""
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
