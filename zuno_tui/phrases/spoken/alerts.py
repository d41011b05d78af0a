"""Sentences about alerts: being told of a price, quieting those of a position, taking note."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.phrase_error import NotReadYetError
from zuno_tui.phrases.spoken.meaning import AnsweredPhrase, AskedBack, Rephrased
from zuno_tui.phrases.spoken.targets import called, positions_meant
from zuno_tui.phrases.spoken.topics import Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_HOUR = 3_600
_LEVELS = (Topic.BELOW, Topic.ABOVE, Topic.REACHES, Topic.FALLS, Topic.RISES)
_PLACES = ("fir", "sec", "thi", "fou", "fif", "six", "sev", "eig", "nin", "ten")
_LAST = ("last", "bottom")
_PLACE = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|bottom)"
    r"(?: one)?(?: of)? (?:my )?(?:alerts?|notifications?|warnings?|notifs?|messages?)\b"
)
_LOOKED_AT = (Topic.WHAT, Topic.WHY, Topic.SHOW, Topic.HOW)
_UNSAID_TIME = re.compile(
    r"\bfor (?:(?:this|next|my|now|good|ever|forever|some|rest of) ?)*"
    r"(?:weekend|night|evening|morning|while|bit|time|now|today|day off|ever|forever|good)\b"
)
_TURNED_OFF = re.compile(r"\b(?:turn|switch|shut)\b.*\boff\b|\b(?:alerts|notifications) off\b")
_WATCHED = (
    "The monitor tells of every position that leaves its range, nears an edge or has fees "
    "waiting: run `zuno monitor`. For a price of your own: alert ETH below 3000"
)


def _price_alert(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    listing = sentence.has(Topic.PRICE_ALERTS)
    told = sentence.has(Topic.TELL) and sentence.has(Topic.IF) and not sentence.has(Topic.COMPARE)
    telling = sentence.has(Topic.ALERT) or told
    setting = sentence.has(Topic.SET, Topic.OPEN, Topic.MORE) and sentence.has(Topic.ALERTS)
    if not (listing or telling or setting) or sentence.words == ("open", "alerts"):
        return None
    if sentence.has(Topic.GAS):
        return AnsweredPhrase("Alerts are set at prices of tokens. What gas costs now: gas")
    if sentence.has(Topic.REMOVE, Topic.CANCEL, Topic.ACKNOWLEDGE, Topic.MUTE):
        return _removal(sentence)
    level = next(iter((*sentence.dollars, *sentence.numbers, *map(str, sentence.ids))), None)
    level = level or next((one.number for one in sentence.amounts), None)
    token = next(iter((*sentence.tokens, *(one.upper() for one in sentence.unknown))), None)
    if level is None or token is None:
        return _without_level(sentence, token, telling=telling or setting)
    if len(sentence.dollars) + len(sentence.numbers) + len(sentence.amounts) > 1:
        return AskedBack("At which one price? Like: alert ETH below 3000")
    return _at_level(sentence, called(token, context), level)


def _at_level(sentence: Sentence, token: str, level: str) -> SpokenMeaning:
    if sentence.has(Topic.BELOW, Topic.FALLS):
        return Rephrased((f"alert {token} below {level}",))
    if sentence.has(Topic.ABOVE, Topic.RISES):
        return Rephrased((f"alert {token} above {level}",))
    choices = (f"alert {token} below {level}", f"alert {token} above {level}")
    return AskedBack(f"When {token} falls below {level}, or rises above it?", choices)


def _without_level(sentence: Sentence, token: str | None, *, telling: bool) -> SpokenMeaning | None:
    if sentence.first in _LOOKED_AT and not sentence.has(Topic.IF, Topic.SET, Topic.PRICE_ALERTS):
        return Rephrased(("alerts",))
    if sentence.percents and token is not None:
        return AskedBack(f"At which price of {token}? Like: alert {token} below 3000")
    if sentence.ids or sentence.has(
        Topic.OUT_OF_RANGE, Topic.IN_RANGE, Topic.NEAR_EDGE, Topic.FEES, Topic.POSITIONS
    ):
        return AnsweredPhrase(_WATCHED)
    if telling and (token is not None or sentence.has(Topic.IF)):
        return AskedBack("At which price of which token? Like: alert ETH below 3000")
    if sentence.has(Topic.PRICE_ALERTS) and not sentence.has(Topic.SET, Topic.OPEN, Topic.MORE):
        return Rephrased(("alert",))
    return (
        AskedBack("At which price of which token? Like: alert ETH below 3000") if telling else None
    )


def _removal(sentence: Sentence) -> SpokenMeaning:
    numbers = (*sentence.numbers, *map(str, sentence.ids))
    if len(numbers) == 1 and not sentence.tokens:
        return Rephrased((f"alert remove {numbers[0]}",))
    return AskedBack(
        "Which one? `alert` lists them with their numbers; then: alert remove 2",
    )


def _mute(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    about = sentence.has(Topic.ALERTS, Topic.ALERT, Topic.POSITION) or bool(sentence.ids)
    if sentence.has(Topic.UNMUTE) and (about or sentence.has(Topic.ALL)):
        return AnsweredPhrase(
            "A muted alert speaks again when its time is over: `alerts` lists it."
        )
    quieted = sentence.has(Topic.MUTE) or _no_more(sentence)
    told_of = sentence.has(Topic.ALERTS, Topic.ALERT)
    quieted = quieted or (told_of and _TURNED_OFF.search(sentence.text) is not None)
    if not quieted or sentence.has(Topic.THEME):
        return None
    if sentence.has(Topic.LATER) or _UNSAID_TIME.search(sentence.text):
        return AskedBack("For how long? Like: mute 3 for 8h")
    lasting = f" for {sentence.seconds or _HOUR}s"
    numbered = [one for one in _numbered(sentence, context) if one in context.alerts]
    alone = len(sentence.numbers) == 1 or sentence.has(Topic.ALERT, Topic.ALERTS)
    if len(numbered) == 1 and not sentence.ids and alone:
        return Rephrased((f"mute {numbered[0]}{lasting}",))
    if sentence.has(Topic.ALL) and not sentence.ids:
        return Rephrased((f"mute all{lasting}",))
    return _mute_of_positions(sentence, lasting, context)


def _no_more(sentence: Sentence) -> bool:
    """`no more notifications for 38`."""
    ended = "no more" in sentence.text or sentence.first is Topic.NOT
    return ended and sentence.has(Topic.ALERTS, Topic.ALERT)


def _mute_of_positions(sentence: Sentence, lasting: str, context: PhraseContext) -> SpokenMeaning:
    meant = positions_meant(sentence, context)
    if not meant.said:
        return AskedBack("Which alerts: of which position, or all?", (f"mute all{lasting}",))
    if not meant.sure:
        return AskedBack("Of which position?")
    if context.alerts_of is None:
        raise NotReadYetError("alerts")
    alerts = [alert for alert, token_id in context.alerts_of if token_id in meant.ids]
    if not alerts:
        named = ", ".join(f"#{one}" for one in meant.ids)
        return AnsweredPhrase(f"No alert stands about {named}.")
    return Rephrased(tuple(f"mute {alert}{lasting}" for alert in alerts))


def _acknowledge(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    about = sentence.has(Topic.ALERT, Topic.ALERTS)
    ended = sentence.has(Topic.LEAVE, Topic.REMOVE, Topic.CANCEL) and about
    if not (sentence.has(Topic.ACKNOWLEDGE) or ended) or sentence.has(Topic.PRICE_ALERTS):
        return None
    numbers = _numbered(sentence, context)
    if ended and not sentence.has(Topic.ACKNOWLEDGE):
        choices = (f"ack {numbers[0]}", f"alert remove {numbers[0]}") if len(numbers) == 1 else ()
        known = len(numbers) == 1 and numbers[0] in context.alerts
        question = "Take note of the alert that stands there, or remove an alert at a price?"
        return AskedBack(question, choices) if known else None
    if len(numbers) == 1:
        of_position = [alert for alert, held in context.alerts_of or () if str(held) == numbers[0]]
        unnumbered = bool(of_position) and numbers[0] not in context.alerts
        return Rephrased(tuple(f"ack {one}" for one in (of_position if unnumbered else numbers)))
    if len(numbers) > 1 and set(numbers) <= set(context.alerts):
        return Rephrased(tuple(f"ack {one}" for one in numbers))
    if sentence.has(Topic.ALL, Topic.ALERTS) and not numbers:
        return Rephrased(("ack all",))
    return None if numbers else _which_alert(sentence, context)


def _which_alert(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`acknowledge it`: the one under the cursor, else a question which."""
    alone = set(sentence.topics) <= {Topic.ACKNOWLEDGE, Topic.IT, Topic.ONE, Topic.ALERT}
    counted = sentence.tokens or sentence.percents
    if not alone or len(sentence.words) == 1 or sentence.unknown or counted:
        return None
    if context.selected_alert is not None:
        return Rephrased((f"ack {context.selected_alert}",))
    return AskedBack("Which alert?", tuple(f"ack {one}" for one in context.alerts))


def _numbered(sentence: Sentence, context: PhraseContext) -> tuple[str, ...]:
    """The numbers of alerts that are named, also by their place in the list: `the third alert`."""
    place = _PLACE.search(sentence.text)
    listed = [*context.alerts]
    if place is None or not listed:
        return (*sentence.numbers, *map(str, sentence.ids))
    at = _PLACES.index(place[1][:3]) if place[1] not in _LAST else len(listed) - 1
    return (listed[at],) if at < len(listed) else ()


ALERT_RULES: tuple[SentenceRule, ...] = (_mute, _acknowledge, _price_alert)
