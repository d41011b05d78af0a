"""A sentence as the exact command lines it stands for, by the rows of the grammar."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import NamedTuple

from msgspec import Struct

from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.phrase_error import NotReadYetError, UnclearSlotError
from zuno_tui.intents.pieces import list_names
from zuno_tui.prompt.figures import is_turned, is_wrapping, named_term, two_prices, width
from zuno_tui.prompt.line_slots import FILLERS, kept_coin, theme_of, unit_of
from zuno_tui.prompt.positions import PositionsMeant, positions_meant
from zuno_tui.prompt.ranking import LineRow, line_rows, ranked_rows, says_for
from zuno_tui.prompt.slots import Sentence, is_look, sentence_of, symbol_of
from zuno_tui.prompt.standing_wishes import order_instead, repeated_every
from zuno_tui.prompt.unused import clock_times, spoken_rhythms, unread_words, unused_of
from zuno_tui.prompt.words import Idea, SentenceToken, grammar, stem

NOTHING_DONE = "Nothing to do: keeping things as they are needs no command."
NOT_LATER = (
    "That cannot wait for a time or a price: type it when it should happen. An alert tells you "
    "when: alert ETH below 3000. What can wait is an order: order close 28 below 2900"
)
NOT_WHILE = (
    "What waits, waits for something to happen, and not for what is not so: say when, like: if it "
    "falls below a price, or rises above one."
)
ONE_AT_A_TIME = "Those are several things at once. Type them one at a time."
_TAKEN_WHOLE = re.compile(r"decrease ([0-9]+) 100")
_SLOT = re.compile(r"\{(\w+)\}")
_SEPARATORS = frozenset((",", ";", ".", "!", "and", "then", "&", "but", "-", "also"))
_ANDS = _SEPARATORS | {"+", "plus", "or"}
_THROUGH = frozenset(("to", "through", "thru", "-"))
_ORDERS = frozenset(
    (
        "collect",
        "compound",
        "close",
        "open",
        "wrap",
        "unwrap",
        "sell",
        "buy",
        "hedge",
        "move",
        "swap",
    )
)
_STARTING = frozenset(("ask", "not", "should", "except"))
_MOST_LINES = 40
_SEVERAL = 2


class Lines(Struct, frozen=True):
    """Command lines without the leading `zuno`, in order."""

    lines: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """What was said besides: beside an act only words that nothing reads."""


class PhraseQuestion(Struct, frozen=True):
    """What is still to be said; nothing was done."""

    text: str
    choices: tuple[str, ...] = ()


class PlainAnswer(Struct, frozen=True):
    text: str


Meaning = Lines | PhraseQuestion | PlainAnswer
Fill = Callable[[str, Sentence], str]
"""A line without slots, with what its command takes of a sentence."""


def _as_it_is(line: str, _sentence: Sentence) -> str:
    return line


def _unread_words(typed: str) -> str:
    if typed.startswith("0x"):
        return f"No sentence takes '{typed}': give an address or a hash to a command by its name."
    return f"I cannot read '{typed}'. Write the number alone."


class LikelyMeaning(NamedTuple):
    meaning: Meaning
    share: int = 100
    """How likely it is what was meant, in percent."""
    acts: bool = False


def likely_meanings(
    sentence: Sentence, context: PhraseContext, fill: Fill = _as_it_is
) -> Iterator[LikelyMeaning]:
    """The likeliest first. NotReadYetError says what must be read first."""
    settled = _settled(sentence, context, fill)
    if settled is not None:
        yield LikelyMeaning(settled)
        return
    for likely in _of_rows(said_of(sentence, context), sentence, context, fill):
        if likely.meaning == PhraseQuestion(ONE_AT_A_TIME):
            each = _each_at_a_time(sentence, context, fill)
            yield LikelyMeaning(PhraseQuestion(ONE_AT_A_TIME, each))
            return
        yield likely


def _of_rows(
    said: frozenset[str], sentence: Sentence, context: PhraseContext, fill: Fill
) -> Iterator[LikelyMeaning]:
    for place, (row, share) in enumerate(ranked_rows(said)):
        try:
            meaning = _of_row(row, said, sentence, context, fill)
            meaning = _with_all_meant(meaning, row, sentence)
            meaning = _with_all_used(meaning, sentence, context, told=_is_told(row))
        except NotReadYetError:
            if place == 0:
                raise
            continue
        yield LikelyMeaning(meaning, share, row.acts)


def _settled(sentence: Sentence, context: PhraseContext, fill: Fill) -> Meaning | None:
    """What is asked back whatever is meant, or several things at once, each by itself."""
    whole = [token for token in sentence.numbers if token.is_whole]
    if context.held is None and not context.positions and len(whole) > 1:
        raise NotReadYetError("positions")
    if sentence.unclear:
        return PhraseQuestion(f"{sentence.unclear} can be read in two ways. Write it like 1,000.5")
    if sentence.unread:
        return PhraseQuestion(_unread_words(sentence.unread))
    asked = "?" in sentence.words
    asked_back = _unless(sentence, asked=asked) or span_question(sentence, context)
    clauses = _clauses(sentence, context)
    if asked_back is not None or len(clauses) < _SEVERAL:
        return asked_back
    return _with_all_used(_by_clauses(clauses, context, fill), sentence, context)


def _unless(sentence: Sentence, *, asked: bool) -> PhraseQuestion | None:
    """An order waits for what happens; `unless` names what must not be so."""
    if "unless" not in sentence.words or _is_question(sentence, asked=asked):
        return None
    place = sentence.words.index("unless")
    return PhraseQuestion(
        f"«{' '.join(sentence.words[place:])}»: now, where that is not so, or later, once it is no "
        f"longer so? {NOT_WHILE}"
    )


def span_question(sentence: Sentence, context: PhraseContext) -> PhraseQuestion | None:
    """`33-36` may mean two positions, or each that lies between them too."""
    tokens = sentence.tokens
    for place, (first, join) in enumerate(pairwise(tokens)):
        ends = tokens[place + 2 : place + 3] if join.text in _THROUGH else ()
        last = join if join.sign == "-" else next(iter(ends), None)
        if last is None or first.ref is None or last.ref is None:
            continue
        low, high = sorted((first.ref, last.ref), key=lambda ref: ref.token_id)
        held = [ref for ref in context.positions if low.token_id <= ref.token_id <= high.token_id]
        if {low, high} <= set(sentence.ids) and {*held} != {low, high}:
            shown = f": {list_names(map(position_label, held))}" if held else ""
            span = f"{position_name(first.ref)} to {position_name(last.ref)}"
            return PhraseQuestion(f"All from {span}{shown}? Name each by its number.")
    return None


def _is_told(row: LineRow) -> bool:
    """`monitor`: neither act nor look, it is typed in a shell."""
    return not (row.acts or row.is_conditional or is_look(row.verb))


def _with_all_used(
    meaning: Meaning, sentence: Sentence, context: PhraseContext, *, told: bool = False
) -> Meaning:
    """A line that leaves out what carries a value is a question about it."""
    if meaning == PlainAnswer(NOTHING_DONE):
        ids = set(map(position_label, sentence.ids))
        denied = ids.issuperset(unused_of(sentence, [], context))
        return meaning if denied else PhraseQuestion(ONE_AT_A_TIME)
    if not isinstance(meaning, Lines):
        return meaning
    verbs = {_verb_of(line) for line in meaning.lines}
    acts = not (told or all(map(is_look, verbs))) or (verbs == {"recommend"} and _is_wish(sentence))
    left = unused_of(sentence, meaning.lines, context)
    if acts:
        said = " ".join(meaning.lines)
        left = (*left, *(time for time in clock_times(sentence) if time not in said))
    if acts and sentence.twice:
        return PhraseQuestion(f"You named {list_names(sentence.twice)}. Which one?", meaning.lines)
    if not (acts and left):
        return Lines(meaning.lines, unread_words(sentence, meaning.lines) if acts else left)
    offer = order_instead(meaning.lines, sentence, context)
    if offer is not None:
        return PhraseQuestion(offer.text, offer.choices)
    line = meaning.lines[0]
    return PhraseQuestion(
        f"What about {list_names(left)}? `{line}` leaves that out.", meaning.lines
    )


_CHANGES = frozenset(("off", "stop_loss", "take_profit", "undo", "unhedge", "trades"))
"""Ideas that are no verbs and yet make another act of the one beside them."""
_SAYS_LITTLE = frozenset(("make", "new", "take", "get", "should"))


def _with_all_meant(meaning: Meaning, row: LineRow, sentence: Sentence) -> Meaning:
    """`trailing stop 28 5%`: an act that does not explain the words beside it is asked about."""
    if not (isinstance(meaning, Lines) and meaning.lines and row.acts):
        return meaning
    known = {*grammar().joining.split(), "wrap", "unwrap"}
    by_place = {
        place: [idea.name for idea in ideas]
        for place, ideas in groupby(sentence.ideas, lambda idea: idea.place)
    }
    left = [
        sentence.words[place]
        for place, names in by_place.items()
        if any(name in _CHANGES or name in grammar().verbs for name in names)
        and known.isdisjoint(names)
        and sentence.words[place] not in _SAYS_LITTLE
        and sentence.words[place] not in meaning.lines[0].split()
        and max(says_for(name, row.line) for name in names) <= 0
    ]
    if not left:
        return meaning
    line = meaning.lines[0]
    return PhraseQuestion(f"What about «{list_names(left)}»? `{line}` says nothing of it.", (line,))


def _is_wish(sentence: Sentence) -> bool:
    """`auto-rebalance 26`: advice is a look, but this is to happen by itself."""
    return bool(spoken_rhythms(sentence))


def _verb_of(line: str) -> str:
    several = (
        verb for verb in filling_verbs() if " " in verb and f"{line} ".startswith(f"{verb} ")
    )
    return next(several, line if line.startswith("revoke ") else line.split(maxsplit=1)[0])


@cache
def filling_verbs() -> frozenset[str]:
    """The verbs that a sentence never runs."""
    verbs = {row.verb for row in line_rows()} - {"=", "?"}
    return frozenset(verb for verb in verbs if not is_look(verb))


def _meaning(sentence: Sentence, context: PhraseContext, fill: Fill) -> Meaning:
    said = said_of(sentence, context)
    return _of_row(ranked_rows(said)[0].row, said, sentence, context, fill)


def _of_row(
    row: LineRow, said: frozenset[str], sentence: Sentence, context: PhraseContext, fill: Fill
) -> Meaning:
    if row.is_answered:
        text, plainly = row.line[2:], row.line[0] == "="
        # A question names the values that an answer would pass over.
        plainly = plainly and not unused_of(sentence, (text,), context, asked=True)
        return PlainAnswer(text) if plainly or text == NOTHING_DONE else PhraseQuestion(text)
    held_back = _held_back(row, sentence, said)
    wished = held_back == _not_later(sentence) and _is_wish(sentence)
    if held_back is not None and not wished:
        return _or_at_once(held_back, row, sentence, fill)
    try:
        if "{" in row.line:
            lines = filled_row(row.line, sentence, context)
        else:
            lines = (fill(row.line, sentence),)
    except UnclearSlotError as unclear:
        return held_back or PhraseQuestion(unclear.question, unclear.choices)
    offer = order_instead(lines, sentence, context) if wished else None
    return Lines(lines) if offer is None else PhraseQuestion(offer.text, offer.choices)


def _or_at_once(held_back: Meaning, row: LineRow, sentence: Sentence, fill: Fill) -> Meaning:
    """What is about the whole desk may be meant all the same: it is asked about."""
    if "{" in row.line or (held_back == PlainAnswer(NOTHING_DONE) and sentence.has("not")):
        return held_back
    try:
        line = fill(row.line, sentence)
    except UnclearSlotError as unclear:
        return PhraseQuestion(unclear.question, unclear.choices)
    return PhraseQuestion(f"Now: `{line}`?", (line,))


def _held_back(row: LineRow, sentence: Sentence, ideas: frozenset[str]) -> Meaning | None:
    """What is denied, conditional or for later fills no line."""
    verb = row.verb
    if "except" in ideas and "{several}" not in row.line and not is_look(verb):
        # Only a list of positions can be told without some of them.
        return PhraseQuestion(ONE_AT_A_TIME)
    if row.is_conditional and verb in ("order", "alert") and "not" in ideas:
        return PhraseQuestion(NOT_WHILE)
    if not row.acts and (verb != "recommend" or "?" in ideas):
        return None
    if _says_no(row):
        # To deny one thing may be to wish for another, which is asked about.
        return PhraseQuestion(NOT_WHILE) if "not" in ideas and "{" not in row.line else None
    if _asks_for_several(sentence, ideas, verb):
        return PhraseQuestion(ONE_AT_A_TIME)
    denied = _denied(row, sentence, ideas)
    reminded = "notify" in ideas and verb not in ("ack", "alert")
    later = reminded or clock_times(sentence) or not ideas.isdisjoint(("if", "later"))
    later = later and verb != "setting"
    return denied or (_not_later(sentence) if later and not is_look(verb) else None)


def _says_no(row: LineRow) -> bool:
    """`orders stop` is how `do not execute my orders` is said."""
    return row.line in (
        "orders stop",
        "unhedge {hedged}{part}",
        "trade watch off",
        "watch-ids {ids}",
    )


def _not_later(sentence: Sentence) -> PhraseQuestion:
    times = "".join(f"«{time}»: " for time in clock_times(sentence))
    return PhraseQuestion(f"{times}{NOT_LATER}")


def _denied(row: LineRow, sentence: Sentence, ideas: frozenset[str]) -> Meaning | None:
    """Nothing is done of what is denied; `close 31 but leave 29` still asks for something."""
    if _is_called_off(sentence, row.verb):
        return PlainAnswer(NOTHING_DONE)
    if not _is_denied(sentence, ideas) or ("{kept}" in row.line and kept_coin(sentence)):
        return None
    place = min(idea.place for idea in sentence.ideas if idea.name in ("not", "keep"))
    before = (idea for idea in sentence.verbs if idea.place < place)
    if all(idea.name in _DENYING for idea in before):
        return PlainAnswer(NOTHING_DONE)
    return PhraseQuestion(f"What about «{' '.join(sentence.words[place:])}»? {ONE_AT_A_TIME}")


_DENYING = frozenset(("keep", "cancel", "show", "undo", "agree"))


def _is_denied(sentence: Sentence, ideas: frozenset[str]) -> bool:
    denied = "not" in ideas or ("keep" in ideas and "orders" not in ideas and not sentence.percents)
    return denied and "#wrapping" not in ideas


def _asks_for_several(sentence: Sentence, ideas: frozenset[str], verb: str) -> bool:
    """Two orders in one, or several positions of which some are left out."""
    sent = ideas & {"apply", "approve"} and verb not in ("approve", "recommend")
    if sent and _about_positions(verb):
        return True
    left_out = "except" in ideas and not ideas & {"all", "them", "positions"}
    some_denied = len(sentence.ids) > 1 and (_is_denied(sentence, ideas) or left_out)
    return some_denied or _is_several(sentence)


@cache
def _about_positions(verb: str) -> bool:
    return any("{" in row.line for row in line_rows() if row.verb == verb)


_CALLS_OFF = frozenset(("stop", "cancel", "abort", "undo", "quit", "halt", "don't"))


def _is_called_off(sentence: Sentence, verb: str) -> bool:
    """`stop closing 27`: what ends an act fills no line that begins it."""
    words = sentence.words
    acts = (idea.place for idea in sentence.ideas if idea.is_verb and idea.name == verb)
    return any(place > 0 and words[place - 1] in _CALLS_OFF for place in acts)


def _is_several(sentence: Sentence) -> bool:
    """Two orders, or two positions that no `and` joins: `close 26, open …`, `take 27 out of 26`."""
    words = sentence.words
    orders = {idea.name: idea.place for idea in sentence.ideas if idea.name in _ORDERS}
    first, last = min(orders.values(), default=0), max(orders.values(), default=0)
    ids = [place for place, token in enumerate(sentence.tokens) if token.ref in sentence.ids]
    steps = [(start, end) for start, end in pairwise(ids) if words[start] != words[end]]
    between = (words[start + 1 : end] for start, end in steps)
    parted = any(gap and _ANDS.isdisjoint(gap) for gap in between)
    return parted or (len(orders) > 1 and not _ANDS.isdisjoint(words[first:last]))


def filled_row(line: str, sentence: Sentence, context: PhraseContext) -> tuple[str, ...]:
    """One line for each position that is meant, where the row is about each."""
    lines = [line]
    for name in _SLOT.findall(line):
        if name == "each" and line.startswith("hedge ") and sentence.has("all"):
            meant = positions_meant(sentence, context)
            if meant.sure and not meant.described:
                lines = [line.replace("{each}", "all")]
                continue
        values = FILLERS[name](line.split(maxsplit=1)[0], sentence, context)
        lines = [each.replace(f"{{{name}}}", value) for each in lines for value in values]
    plain = (" ".join(each.split()) for each in lines[:_MOST_LINES])
    return tuple(_TAKEN_WHOLE.sub(r"close \1", each) for each in plain)


def said_of(sentence: Sentence, context: PhraseContext) -> frozenset[str]:
    """The ideas of a sentence, what it names, and the words that nothing reads."""
    try:
        meant = positions_meant(sentence, context)
    except NotReadYetError:
        meant = PositionsMeant(named=True)
    flags = {
        "?": _is_question(sentence, asked="?" in sentence.words),
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
        "#level": _is_level(sentence),
        "#signed": any(token.sign for token in sentence.numbers),
        "#day": bool(sentence.days),
        "#name": bool(sentence.names),
        "#every": repeated_every(sentence) is not None,
        "#profile": sentence.profile is not None,
        "#network": sentence.network is not None,
        "#term": named_term(sentence) is not None,
        "#theme": theme_of(sentence.words) is not None,
        "#unit": unit_of(sentence) is not None,
        "#file": _names_file(sentence.words),
        "#code": _names_code(sentence.words),
        "#quoted": '"' in sentence.words,
        "#into_weth": is_wrapping(sentence) == "WETH",
        "#into_eth": is_wrapping(sentence) == "ETH",
    }
    words = sentence.words
    # `all but not 27` leaves 27 out, and denies nothing.
    named = {
        idea.name
        for idea in sentence.ideas
        if idea.name not in ("not", "keep")
        or not (words[idea.place - 1 : idea.place] in _LEAVING_OUT or _goes_on(words, idea))
    }
    flagged = {name for name, holds in flags.items() if holds}
    head = {f"@{word}" for word in words[:1] if word in _heads()}
    return frozenset(named | flagged | head | {*_stems(words)})


@cache
def _heads() -> frozenset[str]:
    """The words that lines begin with; typed first, they say more."""
    return frozenset(row.line.split()[0] for row in line_rows())


_SIDES = ("below", "above", "falls", "rises", "stop_loss", "take_profit", "down_to")


def _is_level(sentence: Sentence) -> bool:
    """`under 2900`, `drops to $2k`: a price that is waited for."""
    return bool(sentence.numbers or sentence.dollars) and sentence.has(*_SIDES)


def _stems(words: Sequence[str]) -> Iterator[str]:
    """What each word says by itself, besides the ideas it stands for."""
    for word in words:
        if word.isalpha() and len(word) > 1 and symbol_of(word) is None:
            yield f"~{stem(word)}"


_ENDINGS = frozenset(("json", "jsonl", "csv", "png", "toml", "txt"))
_SHORTEST_CODE = 5


def _names_file(words: Sequence[str]) -> bool:
    """`orders.json`, `~/nodes`, `/tmp/orders`."""
    beside = zip(("", *words), words, strict=False)
    return any(
        (before == "." and word in _ENDINGS) or (before in ("", "/", "~", ".") and word == "/")
        for before, word in beside
    )


def _names_code(words: Sequence[str]) -> bool:
    """`zn1abc`: letters and digits that are no coin's and no number's."""
    return any(
        len(word) >= _SHORTEST_CODE and word.isalnum() and not word.isalpha() and word[0].isalpha()
        for word in words
        if symbol_of(word) is None
    )


def _goes_on(words: Sequence[str], idea: Idea) -> bool:
    """`keep collecting` is no denial of it."""
    return words[idea.place] == "keep" and "".join(words[idea.place + 1 : idea.place + 2]).endswith(
        "ing"
    )


_LEAVING_OUT = (("but",), ("except",))


_REQUEST = re.compile(
    r"\b(?:can|could|would|will) you\b(?! (?:say|think|recommend|suggest|advise))"
)


def _is_question(sentence: Sentence, *, asked: bool) -> bool:
    first = {idea.name for idea in sentence.ideas if idea.place == 0}
    if "polite" in first:
        return False
    if _REQUEST.search(" ".join(sentence.words)) and not first & {
        "ask",
        "why",
        "how_to",
        "what_if",
    }:
        return False
    asking = sentence.words[:1] and sentence.words[0] in grammar().words["ask"].split(", ")
    return asked or bool(asking) or bool(first & {"ask", "why", "how_to", "what_if", "should"})


def _by_clauses(
    clauses: Sequence[tuple[SentenceToken, ...]], context: PhraseContext, fill: Fill
) -> Meaning:
    """Each clause with its own positions; where one of them is not clear, none is done."""
    lines: list[str] = []
    denied: set[PositionRef] = set()
    acted: set[PositionRef] = set()
    for clause in clauses:
        sentence = sentence_of(clause, context)
        meaning = _meaning(sentence, context, fill)
        if sentence.has("not", "except", "keep") and not sentence.has("cancel"):
            denied.update(sentence.ids)
            continue
        if not isinstance(meaning, Lines):
            return PhraseQuestion(ONE_AT_A_TIME)
        acted.update(sentence.ids)
        lines += meaning.lines
    if denied & acted:
        return PhraseQuestion(ONE_AT_A_TIME)
    return Lines(tuple(lines)) if lines else PlainAnswer(NOTHING_DONE)


def _clauses(sentence: Sentence, context: PhraseContext) -> tuple[tuple[SentenceToken, ...], ...]:
    """Cut before each verb, question or denial that stands between two positions, or alerts."""
    alerts = context.alerts if sentence.has("ack", "mute") else ()
    ids = [
        place
        for place, token in enumerate(sentence.tokens)
        if token.is_whole and (token.ref in sentence.ids or token.text in alerts)
    ]
    starts = {idea.place for idea in sentence.ideas if idea.is_verb or idea.name in _STARTING}
    cuts = [0]
    for place in sorted(starts):
        if any(cuts[-1] <= number < place for number in ids) and place < max(ids):
            cuts.append(_clause_start(sentence, place))
    ends = [*cuts[1:], len(sentence.tokens)]
    return tuple(
        _without_ends(sentence.tokens[start:end]) for start, end in zip(cuts, ends, strict=True)
    )


def _each_at_a_time(sentence: Sentence, context: PhraseContext, fill: Fill) -> tuple[str, ...]:
    """The lines of what is said behind each `and`, comma or `then`, where each is clear."""
    starts = [idea.place for idea in sentence.verbs if idea.name != "show"]
    cuts = [at for at in starts if at and sentence.words[at - 1] in _SEPARATORS]
    ends = zip((0, *cuts), (*cuts, len(sentence.tokens)), strict=True)
    lines: list[str] = []
    for start, end in ends:
        clause = sentence_of(_without_ends(sentence.tokens[start:end]), context)
        found = _with_all_used(_meaning(clause, context, fill), clause, context)
        if not isinstance(found, Lines) or clause.has("it", "them") or not cuts:
            return ()
        lines += found.lines
    return tuple(lines)


def _clause_start(sentence: Sentence, place: int) -> int:
    """Back to the mark or word that joins the clauses, or to the number before."""
    while sentence.tokens[place - 1].number is None and sentence.words[place] not in _SEPARATORS:
        place -= 1
    return place


def _without_ends(tokens: tuple[SentenceToken, ...]) -> tuple[SentenceToken, ...]:
    while tokens and tokens[-1].text in _SEPARATORS:
        tokens = tokens[:-1]
    while tokens and tokens[0].text in _SEPARATORS:
        tokens = tokens[1:]
    return tokens
