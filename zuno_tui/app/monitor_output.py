"""How a running monitor speaks: a line of JSON for each event and poll, words when news is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from agents.monitor.alerts.alert import event_document, iso_time
from agents.monitor.deliver.channel import Delivered, Notification
from agents.monitor.deliver.channel_worker import Postponed, Sent, SetAside, Stopped
from agents.monitor.deliver.delivery import announcement
from agents.monitor.deliver.ledger import EVERYTHING
from agents.monitor.notes import (
    RoundEnded,
    SubscriptionChanged,
    Troubled,
    TurnTaken,
    WaitingForTurn,
)
from chain.contracts.checksum import shortened
from zuno_tui.app.session import say
from zuno_tui.present.output import print_json_line
from zuno_tui.present.words import subscription_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.monitor.alerts.alert import AlertEvent
    from agents.monitor.deliver.channel import Outcome
    from agents.monitor.heartbeat import Beat
    from agents.monitor.notes import Note
    from agents.monitor.poll import PollReport
    from agents.monitor.sd_notify import Supervisor
    from zuno_tui.present.output import Json


_FIGURES = re.compile(r"[0-9]+")


class Aloud:
    """Standard output as a channel: what was never printed is printed after a restart."""

    name = "output"
    fingerprint = "output"
    pause_seconds = 0.0
    pace = EVERYTHING

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def wants(self, event: AlertEvent) -> bool:  # noqa: ARG002 - a log leaves nothing out
        return True

    def letter(self, events: Sequence[AlertEvent]) -> Notification:
        return Notification(b"", tuple(events))

    def notice(self, text: str) -> Notification:  # noqa: ARG002 - told by the round that met it
        return Notification(b"", ())

    async def send(self, letter: Notification, *, now: float) -> Outcome:  # noqa: ARG002
        for event in letter.events:
            if self._as_json:
                document = cast("dict[str, Json]", event_document(event))
                print_json_line({"type": "event", **document})
            else:
                say(announcement(event).replace("\n", "\n    "))
        return Delivered()

    async def close(self) -> None:
        """Standard output is not ours to close."""


class Speaker:
    """Turns what the monitor tells into lines, and into words where something changed."""

    def __init__(self, supervisor: Supervisor, *, as_json: bool) -> None:
        self._supervisor = supervisor
        self._as_json = as_json
        self._troubles: dict[str, str | None] = {}

    def __call__(self, note: Note) -> None:
        match note:
            case WaitingForTurn(holder):
                who = f"Process {holder.pid} on {holder.host} watches already"
                self._supervisor.ready(f"waiting: {who}")
                self._line({"type": "waiting", "pid": holder.pid, "host": holder.host})
                say(f"{who}. This one takes over when it ends.")
            case TurnTaken():
                self._supervisor.ready("watching")
                self._line({"type": "watching"})
            case RoundEnded(beat, reports, seconds):
                self._round(beat, reports, seconds)
            case SubscriptionChanged(network, trouble):
                self._line({"type": "subscription", "network": network, "trouble": trouble})
                say(f"{network}: {subscription_words(trouble)}")
            case Troubled(sentence):
                self._line({"type": "trouble", "trouble": sentence})
                say(sentence)
            case SetAside(channel, event, reason):
                line = {"type": "set_aside", "channel": channel, "event": event, "trouble": reason}
                self._line(cast("dict[str, Json]", line))
                say(f"{channel} takes others, but never event {event}: {reason} It was set aside.")
            case Sent() | Postponed() | Stopped():
                self._channel(note)

    def _round(self, beat: Beat, reports: Sequence[PollReport], seconds: float) -> None:
        for report in reports:
            self._line(_poll_document(report, beat))
            about = f"{report.network} {shortened(report.wallet_address)}"
            known = report.trouble == beat.trouble
            self._on_change(about, None if known else report.trouble)
        self._on_change("", beat.trouble)
        if beat.trouble is not None:
            self._line({"type": "trouble", "trouble": beat.trouble})
        self._supervisor.doing(_status(beat, seconds))

    def _on_change(self, about: str, trouble: str | None) -> None:
        """Say a trouble once, not whenever its seconds have passed, and say that it is over."""
        kind = None if trouble is None else _FIGURES.sub("", trouble)
        if self._troubles.get(about) == kind:
            return
        if trouble is not None:
            say(f"{about}: {trouble}" if about else trouble)
        else:
            say(f"{about or 'The monitor'} is well again.")
        self._troubles[about] = kind

    def _channel(self, step: Sent | Postponed | Stopped) -> None:
        if isinstance(step, Sent):
            if step.channel != Aloud.name and step.events:
                events = list(step.events)
                self._line({"type": "sent", "channel": step.channel, "events": events})
            return
        stopped = isinstance(step, Stopped)
        state = "stopped" if stopped else "postponed"
        self._line({"type": state, "channel": step.channel, "trouble": step.reason})
        if isinstance(step, Stopped) and not step.first:
            return
        ending = "Nothing is lost." if stopped else ""
        say(f"{step.channel} is {state}: {step.reason} It is tried again. {ending}".rstrip())

    def _line(self, document: Json) -> None:
        if self._as_json:
            print_json_line(document)


def _poll_document(report: PollReport, beat: Beat) -> Json:
    return {
        "type": "poll",
        "at": iso_time(beat.at),
        "network": report.network,
        "chainId": report.chain_id,
        "walletAddress": report.wallet_address,
        "block": report.block,
        "positions": report.positions,
        "opened": report.opened,
        "resolved": report.resolved,
        "requests": report.requests,
        "seconds": round(report.seconds, 3),
        "trouble": report.trouble,
    }


def _status(beat: Beat, seconds: float) -> str:
    seen = ", ".join(
        f"{one.network} {'blind' if one.block is None else f'block {one.block:,}'}"
        for one in beat.sights
    )
    return f"{seen or 'nothing seen'}, in {seconds:.1f} s"
