"""`zuno alerts`: what stands, since when, what to type about it; and to acknowledge or mute it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, with_alerts
from zuno_tui.intents.arguments import read_duration
from zuno_tui.intents.intent import Argument, Intent
from zuno_tui.intents.intents import Acknowledge, MuteAlert, Show, ShowAlert

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_MUTED_SECONDS = 3600


class ListAlerts(Intent, frozen=True):
    command: ClassVar = ("alerts",)
    arguments: ClassVar = (Argument("--all", "ended ones, too", switch=True, field="ended"),)

    ended: bool = False


def _read_acknowledge(said: Remaining) -> Acknowledge:
    alert_id = said.alert()
    said.end("alert", "alerts")
    return Acknowledge(alert_id)


def _read_mute(said: Remaining) -> MuteAlert:
    text = said.text.lower()
    before, _, duration = text.partition(" for ")
    before, _, until = before.partition(" until ")
    said = said.restart(before)
    alert_id = said.alert()
    said.end("alert", "alerts")
    if until:
        return MuteAlert(alert_id, until=until)
    seconds = read_duration(duration) if duration else _MUTED_SECONDS
    if seconds is None:
        said.refuse(f"for how long is '{duration}'.", f"mute {alert_id} for 2h")
    return MuteAlert(alert_id, seconds)


COMMAND = Command(
    does="list alerts, acknowledge or mute them",
    group=Group.WATCHING,
    intent=ListAlerts,
    answer=lambda session, intent: app.alerts.list_alerts(session, ended=intent.ended),
    verbs=(
        Verb(
            "alerts",
            alone(Show("alerts"), "all", "latest", "recent"),
            spoken=("show alerts", "list alerts", "what needs attention", "what happened"),
        ),
    ),
    subcommands=(
        Command(
            does="one alert in full: why, since when, what to do",
            group=Group.WATCHING,
            intent=ShowAlert,
            answer=lambda session, intent: app.alerts.show_alert(session, intent.alert_id),
        ),
        Command(
            does="acknowledge an alert, or all",
            group=Group.WATCHING,
            intent=Acknowledge,
            answer=lambda session, intent: app.alerts.acknowledge(session, intent.alert_id),
            verbs=(
                Verb(
                    "ack",
                    _read_acknowledge,
                    "ack ALERT",
                    spoken=("acknowledge",),
                    names="alerts",
                    possible=with_alerts,
                ),
            ),
            key="alerts.acknowledge",
        ),
        Command(
            does="mute an alert, or all, for a while",
            group=Group.WATCHING,
            intent=MuteAlert,
            answer=lambda session, intent: app.alerts.mute(
                session, intent.alert_id, intent.seconds, intent.until
            ),
            verbs=(
                Verb(
                    "mute",
                    _read_mute,
                    "mute ALERT [for 2h]",
                    spoken=("snooze", "silence"),
                    names="alerts",
                    possible=with_alerts,
                ),
            ),
            key="alerts.mute",
        ),
    ),
)
