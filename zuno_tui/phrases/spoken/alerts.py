"""Sentences about alerts: quieting those of a position, and being told of a price."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.pieces import read_duration
from zuno_tui.phrases.spoken.meaning import AnsweredPhrase, AskedBack, NotReadYetError, Rephrased
from zuno_tui.phrases.spoken.targets import positions_meant

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning

_ALERTS = r"(?:alerts?|notifications?|warnings?)"
_DURATION = r"(?: for (?P<duration>(?:[0-9]+|an?|one) ?[a-z]+|hour|day|week))?"
_UNITS = ("hour", "day", "week")


def _mute(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    said = match["duration"]
    if said in _UNITS:
        # Articles are gone by now: "for an hour" came as "for hour".
        said = f"1 {said}"
    if said is not None and read_duration(said) is None:
        return None
    lasting = "" if said is None else f" for {said}"
    target = match["target"].strip()
    if target in ("all", "everything", ""):
        return (
            Rephrased((f"mute all{lasting}",))
            if target
            else AskedBack("Which alerts: one by its number, or all?", (f"mute all{lasting}",))
        )
    meant = positions_meant(target, context)
    if meant is None or not meant.sure:
        return None if meant is None else AskedBack("Of which position?")
    if context.alerts_of is None:
        raise NotReadYetError("alerts")
    alerts = [alert for alert, token_id in context.alerts_of if token_id in meant.ids]
    if not alerts:
        return AnsweredPhrase(f"No alert stands about {', '.join(f'#{one}' for one in meant.ids)}.")
    return Rephrased(tuple(f"mute {alert}{lasting}" for alert in alerts))


def _acknowledge(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    number = match["alert"].removeprefix("#")
    return Rephrased((f"ack {'all' if number in ('', 'everything') else number}",))


def _price_alert(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AnsweredPhrase(
        "An alert on a price is kept for a position, in settings.toml: under "
        "[monitor.positions.ID], price_below = 3000 or price_above = 3500. "
        "It cannot be set from here yet, and nothing was set."
    )


ALERT_RULES: tuple[tuple[re.Pattern[str], SentenceRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (
            rf"(?:mute|silence|snooze|quiet|stop|turn off|disable)(?P<target> all|) {_ALERTS}"
            rf"{_DURATION}",
            _mute,
        ),
        (
            rf"(?:mute|silence|snooze|quiet|stop|turn off|disable)(?: all)? {_ALERTS}"
            rf" (?:for|of|on|from|about)(?P<target> .+?){_DURATION}",
            _mute,
        ),
        (rf"(?:mute|silence|snooze|quiet)(?P<target> position #?[0-9]+){_DURATION}", _mute),
        (
            rf"(?:dismiss|clear|ack|acknowledge|close|got)(?: all)? {_ALERTS}"
            r" ?(?P<alert>#?[0-9]+|)",
            _acknowledge,
        ),
        (r"(?:dismiss|clear) (?P<alert>#?[0-9]+|all|everything)", _acknowledge),
        (
            r"(?:alert|notify|warn|tell|ping|remind|message|let know|let me know|wake)"
            r"(?: (?:i|us))? (?:when|if|once|whenever|as soon as|on) .+",
            _price_alert,
        ),
        (rf"(?:set|set up|create|add|make)(?: price)? {_ALERTS}(?: .+)?", _price_alert),
        (r"(?:price alerts?)(?: .+)?", _price_alert),
        (r"(?:alert|alerts) [a-z]{2,8} (?:below|above|under|over|at) .+", _price_alert),
    )
)
