"""Which command a sentence is nearest to, by the words that commands declare of themselves."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from zuno_tui.catalog.command import Command
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.intents.intent import Argument, flat
from zuno_tui.prompt.figures import named_term
from zuno_tui.prompt.slots import Sentence
from zuno_tui.prompt.words import find_ideas, grammar, spelled_words

Path = tuple[str, ...]
_NAMED, _SPOKEN, _HELP, _CHOICE, _OPTION, _OPTION_HELP = 3.2, 2.0, 1.6, 0.9, 0.8, 0.5
"""What a word says for a command, by where the command declares it."""
_FITS = 0.5
"""For each kind of value that was said: the command takes such a one, or has no place for it."""
_ENDING = re.compile(r"(?:ies|ing|ed|es|s|ly|e|y)$")
_DOUBLED = re.compile(r"([b-df-hj-np-tv-z])\1$")
_SHORTEST_STEM, _SHORTEST = 3, 4
_WHOLE = frozenset(("news", "address"))
_RARE = 3
"""A word that so few commands have says by itself which of them is meant."""
_VALUES = {
    **dict.fromkeys(("ID", "ID|all", "ID|PHRASE"), "id"),
    **dict.fromkeys(("AMOUNT", "PHRASE"), "amount"),
    **dict.fromkeys(("TOKEN", "FOR", "SYMBOL", "COIN", "SYMBOL|list|remove"), "coin"),
    **dict.fromkeys(("PCT", "PERCENT", "SHARE"), "part"),
    **dict.fromkeys(("PRICE", "LOW", "HIGH", "below|above|N", "WHEN", "WHERE", "N|all"), "number"),
    **dict.fromkeys(("TIME", "4h", "28d"), "time"),
    **dict.fromkeys(("DAY", "DATE"), "day"),
    "TERM": "term",
}


class Ranked(NamedTuple):
    path: Path
    score: float
    read: frozenset[str]
    """The words of the sentence that the command declares."""


class _Index(NamedTuple):
    commands: Mapping[str, Mapping[Path, float]]
    """By stem or idea: what it says for each command that declares it."""
    values: Mapping[Path, frozenset[str]]
    near: frozenset[str]
    """Words that commands are looked for by and that none of them declares."""

    def holders(self, word: str) -> int:
        return len(self.commands.get(stem(word), ()))

    def is_rare(self, word: str) -> bool:
        return 0 < self.holders(word) <= _RARE


def rank_commands(sentence: Sentence, commands: CommandRegistry) -> tuple[Ranked, ...]:
    """Commands that have some of the sentence's words, the nearest first."""
    known, scores = index(commands), dict[Path, float]()
    read: dict[Path, set[str]] = {}
    for word, features in zip(sentence.words, _features(sentence.words), strict=True):
        says: dict[Path, float] = {}
        for feature in features:
            for path, weight in known.commands.get(feature, {}).items():
                says[path] = max(says.get(path, 0.0), weight)
        for path, weight in says.items():
            scores[path] = scores.get(path, 0.0) + weight
            read.setdefault(path, set()).add(word)
    values = _values_said(sentence)
    for path in scores:
        scores[path] += _fit(values, known.values[path])
    nearest = sorted(scores, key=lambda path: -scores[path])
    return tuple(Ranked(path, scores[path], frozenset(read[path])) for path in nearest)


def _fit(said: frozenset[str], taken: frozenset[str]) -> float:
    """More for a term of the glossary, which only one command takes."""
    return _FITS * (2 * len(said & taken) - len(said) + 2 * ("term" in said & taken))


def _values_said(sentence: Sentence) -> frozenset[str]:
    said = {
        "id": sentence.ids,
        "amount": sentence.amounts,
        "coin": sentence.described,
        "part": sentence.percents,
        "number": sentence.numbers or sentence.dollars,
        "time": sentence.seconds,
        "day": sentence.days,
        "term": named_term(sentence),
    }
    return frozenset(kind for kind, values in said.items() if values)


@cache
def index(commands: CommandRegistry) -> _Index:
    """Made once, when the first sentence comes."""
    paths = commands.paths()
    declared = {path: _declared(path, command) for path, command in paths.items()}
    holders, strongest = dict[str, float](), dict[str, float]()
    for features in declared.values():
        for feature, weight in features.items():
            holders[feature] = holders.get(feature, 0) + weight
            strongest[feature] = max(weight, strongest.get(feature, 0))
    found: dict[str, dict[Path, float]] = {}
    for path, features in declared.items():
        for feature, weight in features.items():
            # A word in the help of many says less, and little beside the name of one.
            rarity = math.log(1 + len(paths) * strongest[feature] / holders[feature])
            found.setdefault(feature, {})[path] = weight * rarity / math.log(1 + len(paths))
    values = {
        path: frozenset(
            _VALUES[argument.metavar]
            for argument in flat(command.intent.arguments)
            if argument.metavar in _VALUES
        )
        for path, command in paths.items()
    }
    return _Index(found, values, _undeclared(paths))


def _undeclared(paths: Mapping[Path, Command]) -> frozenset[str]:
    texts = [
        text for path, command in paths.items() for text, _ in _texts(path, command, near=False)
    ]
    declared = {stem(word) for text in texts for word in spelled_words(text)}
    near = (word for text in grammar().near.values() for word in spelled_words(text))
    return frozenset(word for word in near if stem(word) not in declared)


def _declared(path: Path, command: Command) -> dict[str, float]:
    weights: dict[str, float] = {}
    for text, weight in _texts(path, command):
        for features in _features(spelled_words(text)):
            weights |= {each: max(weight, weights.get(each, 0)) for each in features}
    return weights


def _texts(path: Path, command: Command, *, near: bool = True) -> Iterator[tuple[str, float]]:
    yield " ".join(path), _NAMED
    yield command.does, _HELP
    if near:
        yield grammar().near.get(" ".join(path), ""), _SPOKEN
    for verb in command.verbs:
        yield from ((spoken, _SPOKEN) for spoken in (verb.name, *verb.spoken))
        yield verb.does, _HELP
    for argument in _own(command):
        yield argument.name, _OPTION
        yield argument.help, _OPTION_HELP
        yield " ".join(argument.choices), _CHOICE


def _own(command: Command) -> Iterable[Argument]:
    return (each for each in flat(command.intent.arguments) if not each.inherited)


def _features(words: Sequence[str]) -> list[set[str]]:
    """Of each word its stem, and the ideas of which it is the first word."""
    features = [set[str]() if says_nothing(word) else {stem(word)} for word in words]
    for idea in find_ideas(words):
        if idea.name not in general_ideas():
            features[idea.place].add(f"={idea.name}")
    return features


def says_nothing(word: str) -> bool:
    """Whether it tells no command from another."""
    return not word.isalnum() or word.isdigit() or word in _silent()


@cache
def _silent() -> frozenset[str]:
    known = grammar()
    return frozenset((*known.plain.split(), *known.leads.split(), *known.silent.split()))


@cache
def general_ideas() -> frozenset[str]:
    return frozenset(grammar().joining.split())


@cache
def stem(word: str) -> str:
    if len(word) < _SHORTEST or word in _WHOLE:
        return word
    short = _DOUBLED.sub(r"\1", _ENDING.sub("", word))
    return short if len(short) >= _SHORTEST_STEM else word
