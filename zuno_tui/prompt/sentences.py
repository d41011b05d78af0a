"""A sentence as the exact command lines it stands for, by the rows of the grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from zuno_tui.prompt.line_slots import FILLERS, UnclearSlotError
from zuno_tui.prompt.positions import positions_meant
from zuno_tui.prompt.slots import is_look, read_sentence, sentence_of
from zuno_tui.prompt.words import fits, grammar

if TYPE_CHECKING:
    from zuno_tui.prompt.context import PhraseContext
    from zuno_tui.prompt.slots import Sentence
    from zuno_tui.prompt.words import Row, Token, Way

NOTHING_DONE = "Nothing is done: what stays as it is needs no command."
NOT_LATER = (
    "Nothing waits for later or for a condition: type it when it is to be done. "
    "An alert can tell you when: alert ETH below 3000"
)
ONE_AT_A_TIME = "Those are several things at once. Type them one at a time."
_TAKEN_WHOLE = re.compile(r"decrease ([0-9]+) 100")
_SLOT = re.compile(r"\{(\w+)\}")
_VERB_WEIGHT, _IDEA_WEIGHT, _SLOT_WEIGHT = 8, 4, 2
_SEPARATORS = frozenset((",", ";", ".", "!", "and", "then", "&", "but", "-"))
_MOST_LINES = 40
_MOST_HINTS = 4


class Lines(Struct, frozen=True):
    """Command lines without the leading `zuno`, in order."""

    lines: tuple[str, ...]


class Question(Struct, frozen=True):
    """What is still to be said; nothing was done."""

    text: str
    choices: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    text: str


Meaning = Lines | Question | Answer


class _Match(NamedTuple):
    score: int
    row: Row


def sentence_meaning(text: str, context: PhraseContext) -> Meaning | None:
    """None where no row fits. NotReadYetError says what must be read first."""
    sentence = read_sentence(text, context)
    asked = "?" in text
    if len(_acting(sentence)) > 1 and len(sentence.ids) > 1:
        return _by_clauses(sentence, context)
    return _meaning(sentence, context, asked=asked)


def _meaning(sentence: Sentence, context: PhraseContext, *, asked: bool) -> Meaning | None:
    ideas = _ideas(sentence, context, asked=asked)
    row = _best_row(ideas)
    if row is None:
        return None
    if row.line.startswith("= "):
        return Answer(row.line[2:])
    if row.line.startswith("? "):
        return Question(row.line[2:])
    if (held_back := _held_back(row, sentence, ideas)) is not None:
        return held_back
    try:
        return Lines(_filled(row.line, sentence, context))
    except UnclearSlotError as unclear:
        return Question(unclear.question, unclear.choices)


def _held_back(row: Row, sentence: Sentence, ideas: frozenset[str]) -> Meaning | None:
    """What is denied, conditional or for later fills no line."""
    verb = row.line.split()[0]
    if row.conditional or (is_look(verb) and (verb != "recommend" or "?" in ideas)):
        return None
    denied = ideas & {"not", "keep"} and not sentence.percents and "#wrapping" not in ideas
    left_out = "except" in ideas and not ideas & {"all", "them", "positions"}
    if len(sentence.ids) > 1 and (denied or left_out):
        return Question(ONE_AT_A_TIME)
    if denied:
        return Answer(NOTHING_DONE)
    return Question(NOT_LATER) if ideas & {"if", "later"} and not is_look(verb) else None


def _filled(line: str, sentence: Sentence, context: PhraseContext) -> tuple[str, ...]:
    """One line for each position that is meant, where the row is about each."""
    lines = [line]
    for name in _SLOT.findall(line):
        values = FILLERS[name](line.split(maxsplit=1)[0], sentence, context)
        lines = [one_line.replace(f"{{{name}}}", value) for one_line in lines for value in values]
    plain = (" ".join(each.split()) for each in lines[:_MOST_LINES])
    return tuple(_TAKEN_WHOLE.sub(r"close \1", each) for each in plain)


def _best_row(ideas: frozenset[str]) -> Row | None:
    best: _Match | None = None
    asked = "?" in ideas or ("should" in ideas and not ideas & {"#range", "#width"})
    for row in grammar().row:
        look = row.line[0] in "=?" or is_look(row.line.split()[0]) or row.conditional
        if asked and not look:
            continue
        score = max((_score(way, row, ideas) for way in row.ways if fits(way, ideas)), default=0)
        if score and (best is None or score > best.score):
            best = _Match(score, row)
    return None if best is None else best.row


def _score(way: Way, row: Row, ideas: frozenset[str]) -> int:
    return _weight(way) + min(_MOST_HINTS, len(ideas & row.vocabulary.difference(way.needs)))


def _weight(way: Way) -> int:
    """A verb says more than what it is about, and that more than a number."""
    verbs = grammar().verbs
    return sum(
        _SLOT_WEIGHT
        if term[0] in "#?"
        else _VERB_WEIGHT
        if term in verbs and term != "show"
        else _IDEA_WEIGHT
        for term in way.needs
    )


def _ideas(sentence: Sentence, context: PhraseContext, *, asked: bool) -> frozenset[str]:
    from zuno_tui.prompt.line_slots import is_turned, is_wrapping, named_term, two_prices, width

    meant = positions_meant(sentence, context)
    flags = {
        "?": _is_question(sentence, asked=asked),
        "#id": bool(sentence.ids),
        "#ids": len(sentence.ids) > 1,
        "#position": meant.named,
        "#one": meant.sure and len(meant.ids) == 1 and meant.described,
        "#fee": sentence.fee is not None,
        "#turned": is_turned(sentence),
        "#wrapping": is_wrapping(sentence) is not None,
        "#percent": bool(sentence.percents),
        "#amount": bool(sentence.amounts),
        "#token": bool(sentence.symbols),
        "#tokens": len(sentence.symbols) > 1,
        "#number": bool(sentence.numbers),
        "#dollars": bool(sentence.dollars),
        "#range": two_prices(sentence) is not None,
        "#width": width(sentence) is not None,
        "#time": sentence.seconds is not None,
        "#profile": sentence.profile is not None,
        "#network": sentence.network is not None,
        "#term": named_term(sentence) is not None,
        "#into_weth": is_wrapping(sentence) == "WETH",
        "#into_eth": is_wrapping(sentence) == "ETH",
    }
    named = {idea.name for idea in sentence.ideas}
    return frozenset(named | {name for name, holds in flags.items() if holds})


def _is_question(sentence: Sentence, *, asked: bool) -> bool:
    first = {idea.name for idea in sentence.ideas if idea.place == 0}
    if "polite" in first:
        return False
    asking = sentence.words[:1] and sentence.words[0] in grammar().words["ask"].split(", ")
    return asked or bool(asking) or bool(first & {"ask", "why", "how_to", "what_if", "should"})


def _acting(sentence: Sentence) -> tuple[str, ...]:
    """The different verbs of a sentence, by the place of their words."""
    places = {idea.place for idea in sentence.verbs}
    return tuple(str(place) for place in sorted(places))


def _by_clauses(sentence: Sentence, context: PhraseContext) -> Meaning | None:
    """Each clause with its own verb and positions; where they cannot be parted, none is done."""
    clauses = _clauses(sentence)
    whole = _meaning(sentence, context, asked=False)
    if len(clauses) == 1:
        return whole
    if sentence.has("cancel"):
        return Question(ONE_AT_A_TIME)
    lines: list[str] = []
    for clause in clauses:
        meaning = _meaning(sentence_of(clause, context), context, asked=False)
        if isinstance(meaning, Answer):
            continue
        if not isinstance(meaning, Lines):
            return Question(ONE_AT_A_TIME)
        lines += meaning.lines
    return Lines(tuple(lines)) if lines else Answer(NOTHING_DONE)


def _clauses(sentence: Sentence) -> tuple[tuple[Token, ...], ...]:
    """Cut before each verb that follows another verb's positions."""
    cuts = [0]
    numbers = [
        place
        for place, token in enumerate(sentence.tokens)
        if token.text.isdigit() and int(token.text) in sentence.ids
    ]
    for place in sorted({idea.place for idea in sentence.verbs}):
        if any(cuts[-1] <= number < place for number in numbers) and any(
            number > place for number in numbers
        ):
            cuts.append(place)
    ends = [*cuts[1:], len(sentence.tokens)]
    return tuple(
        _without_ends(sentence.tokens[start:end]) for start, end in zip(cuts, ends, strict=True)
    )


def _without_ends(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    while tokens and tokens[-1].text in _SEPARATORS:
        tokens = tokens[:-1]
    return tokens
