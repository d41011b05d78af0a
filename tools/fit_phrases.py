"""Fits what each idea says for a line to the phrases whose line is known.

    python -m tools.fit_phrases [--held-out]

The phrases are the recorded lists, whose lines were looked at when they were recorded, the
examples and what strangers typed in tools/phrases, and the help of each command. Fitted is a
logistic regression over what a sentence says, of which a part is left out at random in each step,
so that no line hangs on one word; small weights are left out and the rest fitted again. With
--held-out nothing is written: a part is kept from the fit in turn, and what is printed is the share
of it that comes first, and among the first three.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tools.phrase_report import DESK, STRANGERS_DESK, desk_of, list_names, recorded
from zuno_tui.catalog.registry import registry
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import flat
from zuno_tui.prompt.ranking import LineRow, is_asked
from zuno_tui.prompt.sentences import said_of
from zuno_tui.prompt.slots import is_look, read_sentence

EXAMPLES = Path(__file__).parent / "phrases" / "examples.txt"
LINES = Path(__file__).parent / "phrases" / "recorded_lines.json"
STRANGERS = Path(__file__).parent / "phrases" / "strangers.tsv"
WEIGHTS = Path(__file__).parent.parent / "zuno_tui" / "prompt" / "weights.toml"

_OF_EXAMPLES, _OF_STRANGERS, _OF_OPTIONS = 2.0, 2.0, 0.5
_DECAY, _LEAST, _STEPS, _RATE, _LEFT_OUT = 3e-5, 0.5, 80, 0.1, 0.4
_EVENED = 0.5
"""A line with many phrases counts as much as the root of their weight."""
_WORD_TWICE = 2
"""In so many phrases of one line a word must stand to say something by itself."""
_FOLDS, _NEAR, _SCALE = 4, 3, 10
_MOST_OF_ONE = 6
"""How many of the phrases that one example is written out to count as much as one alone."""

Matrix = NDArray[np.float32]


class Phrase(NamedTuple):
    line: str
    said: frozenset[str]
    weight: float
    example: str
    """What it was written out from; all of that is kept from the fit together."""


class Given(NamedTuple):
    """A row for each phrase; those that say the same are one."""

    said: Matrix
    meant: Matrix
    barred: Matrix
    weight: Matrix


class Fitted(NamedTuple):
    weights: Matrix
    ideas: Sequence[str]
    lines: Sequence[str]
    acts: NDArray[np.bool_]


def acts(line: str) -> bool:
    """Whether a question never comes to it."""
    row = LineRow(line, acts=False)
    words = tuple(line.split())
    for_shell = registry().paths(for_shell=True)
    named = row.is_answered or words[:1] in for_shell or words[:2] in for_shell
    return not (named or row.is_conditional or is_look(row.verb))


def phrases() -> Iterator[Phrase]:
    """Of the lists, of the examples, of strangers, and what each command says of itself."""
    given = [*_recorded(), *_examples(), *_of_strangers()]
    yield from given
    lines = {registry().path_of(phrase.line.split(" {")[0]): phrase.line for phrase in given[::-1]}
    for path, command in registry().paths().items():
        if path not in lines:
            continue
        name, does = " ".join(path), command.does
        for text in (f"{name}: {does}", does):
            yield Phrase(lines[path], _said(text, DESK), _OF_EXAMPLES, does)
        for argument in flat(command.intent.arguments):
            if argument.help and not argument.inherited:
                said = _said(f"{name} {argument.help}", DESK)
                yield Phrase(lines[path], said, _OF_OPTIONS, argument.help)


def _said(text: str, desk: PhraseContext) -> frozenset[str]:
    return said_of(read_sentence(text, desk), desk)


def _recorded() -> Iterator[Phrase]:
    known: Mapping[str, Mapping[str, str]] = json.loads(LINES.read_text("utf-8"))
    for name in list_names():
        for record in recorded(name):
            line = known[name].get(record.phrase)
            if line is not None:
                yield Phrase(line, _said(record.phrase, desk_of(name)), 1.0, record.phrase)


def _examples() -> Iterator[Phrase]:
    for written in EXAMPLES.read_text("utf-8").splitlines():
        line, _, examples = written.partition(" :: ")
        for example in examples.split(" | "):
            written_out = [*_written_out(example)]
            weight = _OF_EXAMPLES * min(1, _MOST_OF_ONE / len(written_out))
            for each in written_out:
                yield Phrase(line, _said(each, DESK), weight, example)


def _of_strangers() -> Iterator[Phrase]:
    for written in STRANGERS.read_text("utf-8").splitlines():
        phrase, _, line = written.partition("\t")
        yield Phrase(line, _said(phrase, STRANGERS_DESK), _OF_STRANGERS, phrase)


def _written_out(example: str) -> Iterator[str]:
    """`[take;pull] 27`: one phrase for each choice."""
    parts = [part.split(";") for part in re.split(r"[\[\]]", example)]
    return map("".join, product(*parts))


def fitted(phrases: Sequence[Phrase]) -> Fitted:
    given = _merged(phrases)
    ideas = ("=", *sorted({idea for _, said in given for idea in said}))
    lines = sorted({line for line, _ in given})
    place = {idea: at for at, idea in enumerate(ideas)}
    said = np.zeros((len(given), len(ideas)), np.float32)
    meant = np.zeros((len(given), len(lines)), np.float32)
    acting = np.array([acts(line) for line in lines])
    barred = np.zeros((len(given), len(lines)), np.float32)
    for at, (line, named) in enumerate(given):
        said[at, [0, *(place[idea] for idea in named)]] = 1
        meant[at, lines.index(line)] = 1
        barred[at] = 1e3 * (is_asked(named) & acting & (meant[at] == 0))
    weight = np.array([[weight] for weight in given.values()], np.float32)
    weights = np.zeros((len(ideas), len(lines)), np.float32)
    kept = np.ones_like(weights)
    for _ in range(2):
        weights = _descended(weights * kept, kept, Given(said, meant, barred, weight))
        kept = (np.abs(weights) > _LEAST).astype(np.float32)
        kept[0] = 1
    kept = (np.abs(weights) >= 1 / _SCALE).astype(np.float32)
    return Fitted(weights * kept, ideas, lines, acting)


def _merged(phrases: Sequence[Phrase]) -> Mapping[tuple[str, frozenset[str]], float]:
    """By line and what is said, without words that are rare, how much each counts."""
    examples: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    of_line: defaultdict[str, float] = defaultdict(float)
    for phrase in phrases:
        for word in phrase.said:
            examples[word, phrase.line].add(phrase.example)
        of_line[phrase.line] += phrase.weight
    often = {word for (word, _), found in examples.items() if len(found) >= _WORD_TWICE}
    merged: defaultdict[tuple[str, frozenset[str]], float] = defaultdict(float)
    for phrase in phrases:
        said = frozenset(idea for idea in phrase.said if idea[0] != "~" or idea in often)
        merged[phrase.line, said] += phrase.weight / of_line[phrase.line] ** _EVENED
    return merged


def _descended(weights: Matrix, kept: Matrix, given: Given) -> Matrix:
    """By Adam."""
    said, meant, barred, weight = given
    chance = np.random.default_rng(0)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        heard = said * (chance.random(said.shape, np.float32) >= _LEFT_OUT)
        heard[:, 0] = 1
        scores = heard @ weights - barred
        parts = np.exp(scores - scores.max(1, keepdims=True))
        off = (parts / parts.sum(1, keepdims=True) - meant) * weight
        slope = (heard.T @ off / weight.sum() + _DECAY * weights) * kept
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        root = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        weights = weights - _RATE * first / (1 - 0.9**step) / root * kept
    return weights


def written(found: Fitted) -> str:
    text = [
        "# Written by `python -m tools.fit_phrases`: for each line what speaks for and against it,",
        "# in tenths; `=` whatever is said. No question comes to a line of [acts].",
    ]
    for table, holds in (("acts", True), ("looks", False)):
        text += ["", f"[{table}]"]
        for at in map(int, np.flatnonzero(found.acts == holds)):
            tenths = np.rint(found.weights[:, at] * _SCALE).astype(int)
            order = np.argsort(-tenths, kind="stable")
            says = " ".join(f"{found.ideas[idea]} {tenths[idea]}" for idea in order if tenths[idea])
            rows = textwrap.wrap(says, 99, break_long_words=False, break_on_hyphens=False)
            quote = '"' if len(rows) == 1 else '"""'
            text.append(f'"{found.lines[at]}" = {quote}{chr(10).join(rows)}{quote}')
    return "\n".join(text) + "\n"


def shares_of_held_out(given: Sequence[Phrase]) -> Iterator[str]:
    """Of all phrases, and of strangers' alone, how many come first, and among the first."""
    counts: Counter[tuple[str, int]] = Counter()
    strange = {phrase.example for phrase in _of_strangers()}
    folds = {phrase.example: crc32(phrase.example.encode()) % _FOLDS for phrase in given}
    for fold in range(_FOLDS):
        kept = [phrase for phrase in given if folds[phrase.example] != fold]
        found = fitted(kept)
        place = {idea: at for at, idea in enumerate(found.ideas)}
        for phrase in (each for each in given if folds[each.example] == fold):
            at = [0, *(place[idea] for idea in phrase.said if idea in place)]
            scores = found.weights[at].sum(0) - 1e3 * (is_asked(phrase.said) & found.acts)
            order = [found.lines[int(line)] for line in np.argsort(-scores)[:_NEAR]]
            for name in ("phrases", *(["of strangers"] * (phrase.example in strange))):
                counts[name, 0] += 1
                counts[name, 1] += order[0] == phrase.line
                counts[name, _NEAR] += phrase.line in order
    for name in ("phrases", "of strangers"):
        whole = counts[name, 0]
        first, near = counts[name, 1] / whole, counts[name, _NEAR] / whole
        yield f"{whole} {name}: {first:.1%} first, {near:.1%} among the first {_NEAR}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--held-out", action="store_true", help="measure, and write nothing")
    given = [*phrases()]
    if parser.parse_args(arguments).held_out:
        print(*shares_of_held_out(given), sep="\n")
        return
    found = fitted(given)
    WEIGHTS.write_text(written(found), "utf-8")
    print(
        f"{len(given)} phrases, {len(found.lines)} lines, {np.count_nonzero(found.weights)} weights"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
