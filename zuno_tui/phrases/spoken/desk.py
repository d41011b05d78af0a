"""Sentences about the desk itself: leaving it, help, settings, dropping and trying a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.meaning import NOTHING_DONE, AnsweredPhrase, AskedBack, Rephrased
from zuno_tui.phrases.spoken.topics import DEEDS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_ASKED_FOR_HELP = (("how", "does", "this", "work"), ("what", "is", "this"), ("how",))
_LEAVING_NOTHING = (("exit",), ("leave",))
_FORGOTTEN = frozenset(("forget", "mind", "nvm", "nevermind", "disregard"))
_OUT = (
    ("all", "out"),
    ("everything", "out"),
    ("get", "out"),
    ("out",),
    ("want", "out"),
    ("i", "want", "out"),
    ("i", "am", "out"),
    ("exit", "now"),
)


def _exit(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    question = "Leave the desk with `quit`; leave a position with `close` and its number."
    if sentence.words in _LEAVING_NOTHING:
        return AskedBack(question, ("quit",))
    return AskedBack(question) if sentence.words in _OUT else None


def _quit(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    named = sentence.ids or sentence.tokens or sentence.has(Topic.IF, Topic.NOT, *DEEDS)
    return Rephrased(("quit",)) if sentence.has(Topic.QUIT) and not named else None


def _help(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    lost = sentence.has(Topic.HELP) and not _names_anything(sentence)
    named = sentence.ids or sentence.tokens or sentence.has(Topic.ADVISE)
    helped = sentence.words[:1] == ("help",) and not named
    asked = sentence.words in _ASKED_FOR_HELP or helped or lost
    return Rephrased(("help",)) if asked else None


def _settings(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    asked = sentence.has(Topic.SETTINGS) and not sentence.ids
    return Rephrased(("settings",)) if asked else None


def _cancel(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """Work and plans that are not sent: what is sent is `cancel transaction`."""
    about = sentence.has(Topic.SENT, Topic.ALERT, Topic.ALERTS, Topic.PRICE_ALERTS)
    left = sentence.first is Topic.LEAVE and not sentence.has(Topic.APPROVE)
    dropping = sentence.has(Topic.PLAN) and (sentence.has(Topic.REMOVE) or left)
    asked = sentence.first is Topic.CANCEL or dropping
    kept = not sentence.has(*DEEDS) or sentence.has(Topic.KEEP)
    if asked and sentence.ids and _FORGOTTEN & {*sentence.words} and kept:
        return AnsweredPhrase(NOTHING_DONE)
    if sentence.first is Topic.CANCEL and len(sentence.ids) == 1 and not about and kept:
        return AskedBack(
            "The plan that is on the card is dropped with `cancel`. To leave the position itself: "
            f"close {sentence.ids[0]}",
            ("cancel",),
        )
    if not asked or about or sentence.ids or sentence.tokens or sentence.numbers:
        return None
    return Rephrased(("cancel",))


def _simulate(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    asked = sentence.has(Topic.SIMULATION) and not _names_anything(sentence)
    return Rephrased(("simulate",)) if asked and not sentence.percents else None


def _diff(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    planned = sentence.has(Topic.PLAN, Topic.MOVE, Topic.IT, Topic.IF)
    planned = planned or bool({"after", "before"} & set(sentence.words))
    other = sentence.tokens or sentence.fee is not None or "pool" in sentence.words
    planned = planned or not other
    held = sentence.ids or sentence.has(Topic.PORTFOLIO)
    asked = sentence.has(Topic.COMPARE) and planned and not held
    return Rephrased(("diff",)) if asked else None


def _backtest(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.BACKTEST):
        return None
    return AskedBack("Over the past of which pool? `pools` lists them; then: backtest POOL")


def _replay(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.REPLAY) or sentence.ids or len(sentence.words) == 1:
        return None
    choices = tuple(f"replay {one}" for one in context.records)
    return AskedBack("Which debate? `records` lists them; then: replay RECORD", choices)


def _debate(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    shown = sentence.has(Topic.SHOW) and "debate" in sentence.words and not sentence.ids
    return Rephrased(("debate",)) if shown else None


def _names_anything(sentence: Sentence) -> bool:
    return bool(sentence.ids or sentence.tokens or sentence.numbers) or sentence.has(*DEEDS)


FIRST_DESK_RULES: tuple[SentenceRule, ...] = (_exit, _quit, _help, _cancel)
DESK_RULES: tuple[SentenceRule, ...] = (
    _settings,
    _simulate,
    _diff,
    _backtest,
    _replay,
    _debate,
)
