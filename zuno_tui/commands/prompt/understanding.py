"""What a typed phrase asks for: the same words always mean the same, and no model is asked.

Nothing here can sign. The nearest thing is `Apply`, which opens a screen that asks again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.clean_text import clean_text
from chain.base.secrecy import NOT_KEPT, looks_secret
from chain.base.spelling import nearest, one_slip_apart
from zuno_tui.commands.alert import SetPriceAlert
from zuno_tui.commands.backtest import RunBacktest
from zuno_tui.commands.create import CreatePosition
from zuno_tui.commands.help import Help
from zuno_tui.commands.history import ShowHistory
from zuno_tui.commands.increase import IncreasePosition
from zuno_tui.commands.inspect import Inspect
from zuno_tui.commands.price import ShowPrice
from zuno_tui.commands.prompt.interpretation import (
    Interpretation,
    is_question,
    is_readable,
    leads_to_signature,
    questioned,
)
from zuno_tui.commands.prompt.large_amounts import not_too_much
from zuno_tui.commands.prompt.offering import only_named
from zuno_tui.commands.prompt.several import SeveralIntents
from zuno_tui.commands.range import ChooseRange
from zuno_tui.commands.registry import registry
from zuno_tui.commands.swap import SwapTokens
from zuno_tui.commands.what_if import WhatIf
from zuno_tui.phrases.phrase_error import (
    Misunderstood,
    NotReadYetError,
    UnclearError,
)
from zuno_tui.phrases.pieces import LONGEST_PHRASE, listed
from zuno_tui.phrases.remaining import Remaining
from zuno_tui.phrases.spoken.asking import no_such_position
from zuno_tui.phrases.spoken.grammar import spoken_meaning
from zuno_tui.phrases.spoken.meaning import AnsweredPhrase, Rephrased
from zuno_tui.phrases.spoken.number_words import with_scales
from zuno_tui.phrases.spoken.sentence import ALIASES, STABLE
from zuno_tui.phrases.spoken.targets import called, held_as

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.commands.command import Intent
    from zuno_tui.phrases.context import PhraseContext

_COURTESIES = (
    ("please",),
    ("gm",),
    ("good", "morning"),
    ("hi",),
    ("hey",),
    ("hello",),
    ("yo",),
    ("zuno",),
    ("ok",),
    ("okay",),
    ("now",),
    ("can", "you"),
    ("could", "you"),
    ("can", "i"),
    ("let's",),
    ("lets",),
    ("i", "want", "to"),
    ("i'd", "like", "to"),
    ("i", "would", "like", "to"),
)
_AROUND_WORDS = ".,;!\"'`“”‘’«»()[]"
_SHOWING = frozenset(("show", "list", "display", "view", "see", "open", "give", "print", "get"))
_BETWEEN = frozenset(("me", "my", "the", "all", "us"))
_SHORTEST_MENDED = 4
_ONLY_EXACT = frozenset(("apply", "approve"))
"""Never what a slip of the fingers may have meant."""
_DOLLARS = frozenset(("DOLLAR", "DOLLARS", "USD", "BUCKS", "CASH", "STABLES"))
_AROUND_PRICE = re.compile(
    r"±|\+ ?/? ?-|plus.{0,4}minus|(?:each|either|both) (?:side|way|direction)|\baround\b",
    re.IGNORECASE,
)
_ASKED_WHAT = re.compile(r"\s*=?\s+\?+\s*$")
"""`impermanent loss = ?`"""
_BETWEEN_CLAUSES = re.compile(r"[,.;!:]+(?=\s)|\s+[-–—]+\s+")
_NO_VERB = Misunderstood("No verb stands at its beginning.")
_BARE_POSITION = re.compile(r"#?[0-9]{1,77}", re.ASCII)


def understand(text: str, context: PhraseContext) -> Intent | SeveralIntents | Misunderstood:
    """What a phrase asks for, or what was understood of it and what to type instead."""
    try:
        found = interpret(text, context)
    except NotReadYetError as unread:
        return Misunderstood(str(unread), offer="positions")
    if found.misunderstood is not None:
        return found.misunderstood
    if len(found.intents) == 1:
        return found.intents[0]
    if found.intents:
        return SeveralIntents(found.intents)
    if found.question is None:
        return Misunderstood(found.answer or "", answered=True)
    offers = (
        f" Type one: {listed(one.removeprefix('zuno ') for one in found.choices)}."
        if found.choices
        else ""
    )
    return Misunderstood(f"{found.question}{offers}")


def interpret(text: str, context: PhraseContext) -> Interpretation:
    """By a verb's own grammar first, then as a sentence, then with one slip of the fingers mended.

    NotReadYetError says what must be read before the phrase can be understood.
    """
    words = with_scales(_without_courtesies(spoken_words(text)))
    if (refused := _refused(text, words)) is not None:
        return Interpretation(misunderstood=refused)
    found = _interpreted(words, text, context)
    sure = not_too_much(questioned(found, text, context), text, context)
    return only_named(sure, spoken_words(text), asking=is_question(text))


def _interpreted(words: tuple[str, ...], text: str, context: PhraseContext) -> Interpretation:
    spoken = spoken_words(text)
    by_verb = _by_verb(words, context)
    if not isinstance(by_verb, Misunderstood):
        return (
            _not_held((by_verb,), context)
            or _told_otherwise(by_verb, spoken, context)
            or Interpretation((by_verb,))
        )
    return (
        _by_sentence(spoken, context, spoken_clauses(text))
        or _shown(words, context)
        or _mended(words, context)
        or Interpretation(misunderstood=_not_followed(by_verb, words))
    )


def _not_held(intents: Iterable[Intent], context: PhraseContext) -> Interpretation | None:
    """A question where a number is no position's of the wallet; anybody's may be looked at."""
    named = [
        token_id
        for intent in intents
        if (token_id := getattr(intent, "token_id", None)) is not None
        and not isinstance(intent, Inspect | ShowHistory)
    ]
    asked = no_such_position(dict.fromkeys(named), context)
    return None if asked is None else Interpretation(question=asked.question)


def _told_otherwise(
    intent: Intent, words: tuple[str, ...], context: PhraseContext
) -> Interpretation | None:
    """What a verb took for its own words though they are others: a topic, a file, a position."""
    if isinstance(intent, RunBacktest) and intent.bars is not None and not intent.bars.suffix:
        unnamed = _by_verb(("backtest",), context)
        return Interpretation(misunderstood=unnamed) if isinstance(unnamed, Misunderstood) else None
    if isinstance(intent, SwapTokens):
        dollars = intent.bought.upper() in _DOLLARS
        return _for_which_dollars(intent, context) if dollars else None
    if isinstance(intent, IncreasePosition):
        return _in_other_token(intent, words, context)
    if isinstance(intent, ChooseRange):
        return _range_otherwise(intent, words, context)
    if isinstance(intent, Help):
        known = intent.topic is None or intent.topic in registry().phrases()
        return None if known else _by_sentence(words, context) or Interpretation((Help(),))
    return _opened_otherwise(intent, words, context) if isinstance(intent, CreatePosition) else None


def _range_otherwise(
    intent: ChooseRange, words: tuple[str, ...], context: PhraseContext
) -> Interpretation | None:
    """`range of 26` asks for the one it has, `range 26` chooses another."""
    if intent.token_id is None:
        read = is_readable(CreatePosition(intent.what), context)
        return None if read else _by_sentence(words, context)
    owned = len(words) > 1 and words[1].lower() in ("of", "on", "for") and intent.low is None
    return Interpretation((Inspect(intent.token_id),)) if owned else None


def _opened_otherwise(
    intent: CreatePosition, words: tuple[str, ...], context: PhraseContext
) -> Interpretation | None:
    if is_readable(intent, context) and _AROUND_PRICE.search(intent.phrase) is None:
        return None
    found = _by_sentence(words, context)
    if found is None or found.misunderstood is not None:
        return None
    opened = [one for one in found.intents if isinstance(one, CreatePosition)]
    read = all(is_readable(one, context) for one in opened)
    others = any(leads_to_signature(one) for one in found.intents if one not in opened)
    return found if read and not others else None


def _for_which_dollars(intent: SwapTokens, context: PhraseContext) -> Interpretation:
    """`sell 1 weth for dollars`: each of them is a token of its own."""
    held = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    choices = (replace(intent, bought=symbol).twin for symbol in held if symbol in STABLE)
    return Interpretation(question="For which token?", choices=tuple(choices))


def _in_other_token(
    intent: IncreasePosition, words: tuple[str, ...], context: PhraseContext
) -> Interpretation | None:
    """What is said of a token the position does not hold by that name: BTC, or ETH for WETH."""
    held = held_as(intent.token_id, context)
    if held is None or intent.token is None or intent.token.upper() in held.symbols:
        return None
    return None if intent.token.startswith("0x") else _by_sentence(words, context)


def _by_verb(words: tuple[str, ...], context: PhraseContext) -> Intent | Misunderstood:
    if len(words) == 1 and _BARE_POSITION.fullmatch(words[0]):
        return Inspect(int(words[0].removeprefix("#")))
    found = registry().verb_at_start(words)
    if found is None:
        return _NO_VERB
    verb, count = found
    try:
        return _by_symbol(verb.read(Remaining(verb.name, words[count:], context)), context)
    except UnclearError as unclear:
        return unclear.misunderstood


def _by_symbol(intent: Intent, context: PhraseContext) -> Intent:
    """A token that is only asked about, by the symbol it has where the wallet holds it."""
    if isinstance(intent, SwapTokens):
        return replace(
            intent, sold=_called(intent.sold, context), bought=_called(intent.bought, context)
        )
    if isinstance(intent, ShowPrice | SetPriceAlert | WhatIf) and intent.symbol is not None:
        return replace(intent, symbol=_called(intent.symbol, context))
    return intent


def _called(symbol: str, context: PhraseContext) -> str:
    return called(symbol, context) if symbol.upper() in ALIASES else symbol


def _by_sentence(
    words: tuple[str, ...], context: PhraseContext, clauses: tuple[tuple[str, ...], ...] = ()
) -> Interpretation | None:
    meaning = spoken_meaning(words, context, clauses)
    if meaning is None:
        return None
    if isinstance(meaning, AnsweredPhrase):
        return Interpretation(answer=meaning.sentence)
    phrases = meaning.phrases if isinstance(meaning, Rephrased) else meaning.choices
    intents: list[Intent] = []
    for phrase in phrases:
        intent = _by_verb(tuple(phrase.split()), context)
        if isinstance(intent, Misunderstood):
            return Interpretation(misunderstood=intent)
        intents.append(intent)
    if (unheld := _not_held(intents, context)) is not None:
        return unheld
    if isinstance(meaning, Rephrased):
        return Interpretation(tuple(intents), answer=meaning.answer or None)
    choices = tuple(map(_choice, phrases, intents))
    return Interpretation(question=meaning.question, choices=choices)


def _choice(phrase: str, intent: Intent) -> str:
    return intent.twin if intent.twin.startswith("zuno ") else phrase


def _shown(words: tuple[str, ...], context: PhraseContext) -> Interpretation | None:
    """`show X` is X, where X only looks."""
    if words[0].lower() not in _SHOWING:
        return None
    rest = tuple(word for word in words[1:] if word.lower() not in _BETWEEN)
    found = registry().verb_at_start(rest)
    if found is None or found[0].money:
        return None
    intent = _by_verb(rest, context)
    return None if isinstance(intent, Misunderstood) else Interpretation((intent,))


def _mended(words: tuple[str, ...], context: PhraseContext) -> Interpretation | None:
    """With one letter of the first word mended; what leads to a signature is asked back."""
    said = words[0].lower()
    known = {phrase.split()[0]: verb for phrase, verb in registry().phrases().items()}
    if len(said) < _SHORTEST_MENDED or said in known:
        return None
    close = [word for word in known if one_slip_apart(said, word)]
    if len(close) != 1 or close[0] in _ONLY_EXACT:
        return None
    mended = (close[0], *words[1:])
    intent = _by_verb(mended, context)
    found = (
        _by_sentence(mended, context)
        if isinstance(intent, Misunderstood)
        else Interpretation((intent,))
    )
    if found is None or found.question is not None or not found.intents:
        return found
    if any(map(leads_to_signature, found.intents)):
        return Interpretation(
            question=f"I do not know '{words[0]}'. What leads to a signature is typed exactly.",
            choices=tuple(intent.twin for intent in found.intents),
        )
    return found


def _not_followed(said: Misunderstood, words: tuple[str, ...]) -> Misunderstood:
    # What is nearest is looked for last: it takes longer than all else together.
    return _unknown(words) if said is _NO_VERB else _without_unsaid_position(said, words)


def _without_unsaid_position(said: Misunderstood, words: tuple[str, ...]) -> Misunderstood:
    """Nothing is offered that names another position than was typed, or leaves out a condition."""
    verb = registry().verb_named(said.understood) if said.understood else None
    if verb is None or not verb.money:
        return said
    typed = {word.removeprefix("#") for word in words}
    numbers = [word for word in said.offer.split() if _BARE_POSITION.fullmatch(word)]
    whole = len(said.offer.split()) >= len(words)
    named = all(number.removeprefix("#") in typed for number in numbers[:1])
    part = verb.name == "increase" and any("%" in word for word in words)
    return said if named and whole and not part else replace(said, offer="")


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a phrase, without what cannot be seen and without the marks around them."""
    shown = clean_text(text, limit=LONGEST_PHRASE).replace("’", "'")
    # The keys that lead to the prompt, pressed once more in it.
    shown = _ASKED_WHAT.sub("", shown.removeprefix(":").removeprefix("/"))
    words = (_without_marks(word) for word in shown.split())
    asked = (word.rstrip("?") if len(word) > 1 else word for word in words)
    return tuple(word for word in asked if word)


def spoken_clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of what marks keep apart; a comma in a number keeps nothing apart."""
    return tuple(filter(None, map(spoken_words, _BETWEEN_CLAUSES.split(text))))


def _without_marks(word: str) -> str:
    """The point of `.05` belongs to the number: without it a hundred times as much is meant."""
    bare = word.lstrip(_AROUND_WORDS).rstrip(_AROUND_WORDS)
    before = word[: len(word) - len(word.lstrip(_AROUND_WORDS))]
    return f".{bare}" if before.endswith(".") and bare[:1].isdigit() else bare


def _refused(text: str, words: tuple[str, ...]) -> Misunderstood | None:
    if looks_secret(text):
        return Misunderstood(NOT_KEPT)
    if len(text) > LONGEST_PHRASE:
        return Misunderstood(f"A phrase has at most {LONGEST_PHRASE} characters.")
    return None if words else Misunderstood("Nothing was typed.", offer="help")


def _without_courtesies(words: tuple[str, ...]) -> tuple[str, ...]:
    lowered = tuple(word.lower() for word in words)
    for courtesy in _COURTESIES:
        if lowered[: len(courtesy)] == courtesy and len(words) > len(courtesy):
            return _without_courtesies(words[len(courtesy) :])
    return words


def _unknown(words: tuple[str, ...]) -> Misunderstood:
    known = registry().phrases()
    said_so_far = dict.fromkeys(" ".join(words[:count]).lower() for count in (len(words), 2, 1))
    meant = next(filter(None, (nearest(said, known) for said in said_so_far)), None)
    said = f"I do not know '{words[0]}'."
    if meant is None or words[0].lower() in (f"un{meant.split()[0]}", "not", "never", "don't"):
        return Misunderstood(said, offer="help")
    verb = known[meant]
    if verb.money:
        return Misunderstood(f"{said} What leads to a signature is typed exactly: {verb.written}")
    told = f"{said} The nearest is {verb.name}: {registry().does(verb)}."
    return Misunderstood(told, offer=_in_place_of(words, meant))


def _in_place_of(words: tuple[str, ...], phrase: str) -> str:
    """The nearest phrase with the numbers that were typed: `reccomend 7` offers `recommend 7`."""
    numbers = (word for word in words if _BARE_POSITION.fullmatch(word))
    return " ".join((phrase, *numbers))
