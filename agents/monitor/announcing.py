"""An event in plain words, for a telephone: no markup, no control bytes, nothing to click."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agents.monitor.alert import EventKind
from chain.clean_text import clean_text

if TYPE_CHECKING:
    from agents.monitor.alert import AlertEvent

# Six lines of so many characters, each two units long, fit into one message of Telegram.
_LINE_LIMIT = 300

_HAPPENED = {
    EventKind.OPENED: "",
    EventKind.REOPENED: "again, ",
    EventKind.RISEN: "risen, ",
    EventKind.RESOLVED: "over, ",
    EventKind.ACKED: "acknowledged, ",
    EventKind.MUTED: "muted, ",
    EventKind.UNMUTED: "no longer muted, ",
    EventKind.REMINDED: "still, ",
}
# Telephones make links of these by themselves, and the name of a token could hold one.
_LINKS = ((re.compile(r"\.(?=[^\W\d_]{2})"), "[.]"), (re.compile(r"@(?=\w)"), "(at)"))


def announcement(event: AlertEvent) -> str:
    """What happened, since when, what to type, and the numbers to find it again by."""
    alert = event.alert
    over = event.kind is EventKind.RESOLVED
    position = "" if alert.position_id is None else f" #{alert.position_id}"
    what = alert.kind.value.replace("_", " ")
    moment = alert.resolved_at if over and alert.resolved_at is not None else alert.since
    block = "" if alert.block is None else f", block {alert.block:,}"
    lines = [
        f"{alert.severity.value.upper()}: {_HAPPENED[event.kind]}{what}, {alert.network}{position}",
        alert.message,
        (alert.resolution or "") if over else "",
        f"{'over' if over else 'since'} {_moment(moment)}{block}",
        "" if over else alert.next_command,
        f"[alert {alert.id}, event {event.number}]" if event.number else _how_to_ack(alert.id),
    ]
    return "\n".join(unclickable(line) for line in lines if line)


def _how_to_ack(alert_id: int) -> str:
    return f"[alert {alert_id}; no more of this: zuno alerts ack {alert_id}]"


def unclickable(line: str) -> str:
    """One clean line that a telephone makes no link of."""
    text = line.replace("://", " ")
    for link, instead in _LINKS:
        text = link.sub(instead, text)
    return clean_text(text, limit=_LINE_LIMIT)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
