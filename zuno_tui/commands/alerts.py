"""`zuno alerts`: what stands, since when, what to type about it; and to acknowledge or mute it."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from agents.monitor.alerts.alert import AlertState, alert_document, iso_time
from agents.monitor.alerts.lifecycle import AlertMute
from agents.monitor.alerts.store import AlertStore
from chain.contracts.networks import network_named
from zuno_tui.phrases.pieces import read_duration
from zuno_tui.session.session import Session, say
from zuno_tui.settings import SettingsError
from zuno_tui.shown.exit_codes import DONE, FAILED
from zuno_tui.shown.output import OutputColumn, print_json, print_lines, table
from zuno_tui.watch.health import undelivered, watch_health

if TYPE_CHECKING:
    from argparse import Namespace

    from agents.monitor.alerts.alert import Alert
    from zuno_tui.shown.output import Json
    from zuno_tui.watch.health import WatchHealth

_COLUMNS = (
    OutputColumn("ID", "right"),
    OutputColumn("STATE"),
    OutputColumn("SEVERITY"),
    OutputColumn("POSITION"),
    OutputColumn("SINCE (UTC)"),
    OutputColumn("WHAT"),
    OutputColumn("NEXT"),
)


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    session.home.prepare()
    now = time.time()
    with closing(AlertStore.open(session.home, now=now)) as book:
        for notice in book.notices:
            say(notice)
        if arguments.action == "ack":
            return _changed(session, book, _acked(book, arguments, now), "acknowledged")
        if arguments.action == "mute":
            until = _end(arguments, now)
            mute = _mute(book, arguments, until)
            silenced = book.mute(mute, now)
            if arguments.alert_id is None:
                silenced = tuple(one for one in silenced if one.active)
                say(f"What comes until {_moment(until)} UTC is muted, too.")
            return _changed(session, book, silenced, f"muted until {_moment(until)} UTC")
        return _list(session, book, arguments, now)


def _acked(book: AlertStore, arguments: Namespace, now: float) -> tuple[Alert, ...]:
    if arguments.alert_id is not None:
        return (book.ack(arguments.alert_id, now),)
    waiting = {
        one.id
        for one in book.current()
        if one.active and one.state is not AlertState.ACKED and _is_meant(one, arguments)
    }
    if not waiting:
        say("No alert waits to be acknowledged.")
    return book.ack_all(waiting, now)


def _mute(book: AlertStore, arguments: Namespace, until: float) -> AlertMute:
    if arguments.alert_id is not None:
        return AlertMute.of(book.find(arguments.alert_id).subject, until)
    chain_id = network_named(arguments.network).chain_id if arguments.network else None
    return AlertMute(
        until, chain_id, arguments.address.strip().lower() if arguments.address else None
    )


def _list(session: Session, book: AlertStore, arguments: Namespace, now: float) -> int:
    health = watch_health(session.home, now=now)
    alerts = [one for one in book.current() if _is_meant(one, arguments)]
    shown = alerts if arguments.all else [one for one in alerts if one.active]
    if session.as_json:
        print_json(_document(shown, book, health))
        return DONE
    if shown:
        print_lines(table(_COLUMNS, [_row(one, now) for one in shown]))
    else:
        say("No alert stands." if not arguments.all else "There never was an alert.")
    if len(shown) < len(alerts):
        say(f"{len(alerts) - len(shown)} more are over: zuno alerts --all")
    said = (
        health.sentence,
        *health.troubles,
        health.next_step,
        *undelivered(health.channels),
        book.trouble or "",
    )
    for words in dict.fromkeys(said):
        if words:
            say(words)
    return DONE


def _is_meant(alert: Alert, arguments: Namespace) -> bool:
    """All networks and wallets, unless one was named."""
    if arguments.network and network_named(arguments.network).chain_id != alert.chain_id:
        return False
    return not arguments.address or arguments.address.strip().lower() == alert.wallet_address


def _changed(session: Session, book: AlertStore, alerts: tuple[Alert, ...], done: str) -> int:
    if session.as_json:
        print_json({"alerts": [_told(one) for one in alerts], "trouble": book.trouble})
    for alert in alerts:
        over = "" if alert.active else " It is over already."
        say(f"Alert {alert.id} ({_about(alert)}, {_kind(alert)}) is {done}.{over}")
    if book.trouble is not None:
        say(f"{book.trouble} What you said is lost when this ends: try again then.")
        return FAILED
    return DONE


def _end(arguments: Namespace, now: float) -> float:
    """When a mute is to end: it always has an end."""
    if arguments.until is not None:
        return _read_moment(arguments.until, now)
    seconds = read_duration(arguments.duration)
    if seconds is None:
        raise SettingsError(
            f"{arguments.duration!r} is no length of time. Write it like: --for 2h, --for 30min"
        )
    return now + seconds


def _read_moment(text: str, now: float) -> float:
    try:
        # Without a zone it is the person's own time.
        moment = datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise SettingsError(
            f"{text!r} is no date or time. Write it like: --until 2026-12-01T08:00"
        ) from None
    if moment <= now:
        raise SettingsError(f"{text} has already passed. A mute ends in the future.")
    return moment


def _row(alert: Alert, now: float) -> tuple[str, ...]:
    state = alert.state.value + (", muted" if alert.muted(now) else "")
    what = alert.message if alert.active else f"{alert.message} Over: {alert.resolution}."
    next_command = alert.next_command if alert.active else ""
    return (
        str(alert.id),
        state,
        alert.severity.value,
        _about(alert),
        _moment(alert.since),
        what,
        next_command,
    )


def _about(alert: Alert) -> str:
    position = "" if alert.position_id is None else f" #{alert.position_id}"
    return alert.network + position


def _kind(alert: Alert) -> str:
    return alert.kind.value.replace("_", " ")


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _document(alerts: list[Alert], book: AlertStore, health: WatchHealth) -> Json:
    beat, holder = health.beat, health.holder
    return {
        "alerts": [_told(one) for one in alerts],
        "monitor": {
            "state": health.state.value,
            "pid": None if holder is None else holder.pid,
            "host": None if holder is None else holder.host,
            "lastSeen": None if beat is None else iso_time(beat.at),
            "trouble": None if beat is None else beat.trouble,
            "troubles": list(health.troubles),
        },
        "channels": [
            {
                "name": name,
                "stopped": progress.stopped,
                "trouble": progress.trouble,
                "sentUpTo": progress.cursor,
                "waiting": len(progress.waiting),
                "setAside": list(progress.set_aside),
            }
            for name, progress in health.channels.items()
        ],
        "trouble": book.trouble,
    }


def _told(alert: Alert) -> Json:
    return cast("dict[str, Json]", alert_document(alert))
