"""`zuno monitor`: watch over every wallet and network, headless, until told to end."""

import asyncio
import os
import re
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

from agents.monitor.alerts.alert import AlertEvent, event_document, iso_time
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import Delivered, Notification, Outcome
from agents.monitor.deliver.delivery import Postponed, Sent, SetAside, Stopped, announcement
from agents.monitor.deliver.pace import EVERYTHING
from agents.monitor.heartbeat import (
    Beat,
    Note,
    OrdersCarried,
    RoundEnded,
    SubscriptionChanged,
    Supervisor,
    Troubled,
    TurnTaken,
    WaitingForTurn,
)
from agents.monitor.poll import PollReport
from agents.monitor.service import run_monitor
from chain.base.home import Home, HomeError
from chain.contracts.addresses import shorten_address
from chain.wallet.files import read_private
from zuno_tui.app.monitor_metrics import Gauges, opened_metrics
from zuno_tui.app.session import SettingsSource, flags_of, say
from zuno_tui.app.watchlist import HomeWatchlist
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import Json, print_exactly, print_json_line
from zuno_tui.present.words import subscription_words
from zuno_tui.settings.monitor import monitor_interval

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
                facts = cast("dict[str, Json]", event_document(event))
                print_json_line({"type": "event", "level": event.alert.severity, **facts})
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
                self._line("waiting", document(holder))
                say(f"{who}. This one takes over when it ends.")
            case TurnTaken():
                self._supervisor.ready("watching")
                self._line("watching", {})
            case RoundEnded(beat, reports, seconds):
                self._round(beat, reports, seconds)
            case SubscriptionChanged(network, trouble):
                self._line("subscription", document(note))
                say(f"{network}: {subscription_words(trouble)}")
            case OrdersCarried(here, host, since):
                self._line("orders", document(note))
                first = "this machine" if here else host or "the machine whose role is first"
                say(f"Orders: {first} tries first{f', since {iso_time(since)}' if since else ''}.")
            case Troubled(sentence):
                self._line("trouble", {"trouble": sentence})
                say(sentence)
            case SetAside(channel, event, reason):
                self._line("set_aside", document(note))
                say(
                    f"{channel} accepts others, but never event {event}: {reason} It was set aside."
                )
            case Sent() | Postponed() | Stopped():
                self._channel(note)

    def _round(self, beat: Beat, reports: Sequence[PollReport], seconds: float) -> None:
        for report in reports:
            facts = document(report, "opened_count", "resolved_count", without=("events",))
            self._line(
                "poll",
                {**facts, "at": iso_time(beat.at), "seconds": round(report.seconds, 3)},
            )
            about = f"{report.network} {shorten_address(report.wallet_address)}"
            known = report.trouble == beat.trouble
            self._on_change(about, None if known else report.trouble)
        self._on_change("", beat.trouble)
        if beat.trouble is not None:
            self._line("trouble", {"trouble": beat.trouble})
        seen = ", ".join(
            f"{sight.network} {'blind' if sight.block is None else f'block {sight.block:,}'}"
            for sight in beat.sights
        )
        self._supervisor.report_status(f"{seen or 'nothing seen'}, in {seconds:.1f} s")

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
                self._line("sent", document(step))
            return
        stopped = isinstance(step, Stopped)
        state = "stopped" if stopped else "postponed"
        self._line(state, document(step))
        if isinstance(step, Stopped) and not step.first:
            return
        ending = "Nothing is lost." if stopped else ""
        say(f"{step.channel} is {state}: {step.reason} It is tried again. {ending}".rstrip())

    def _line(self, kind: str, facts: dict[str, Json]) -> None:
        if self._as_json:
            level = "warning" if facts.get("trouble") or "reason" in facts else "info"
            print_json_line({"type": kind, **facts, "level": level})


_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    if arguments.systemd_unit or arguments.install or arguments.check or arguments.health:
        return _about_service(home, arguments)
    interval = None if arguments.interval is None else monitor_interval(arguments.interval)
    environment = {**_tokens(home.root / "monitor.env"), **os.environ}
    chosen = SettingsSource(home, flags_of(arguments), environment, interval)
    # At a terminal a person reads; anything else that listens wants data.
    as_json = bool(arguments.json) or not sys.stdout.isatty()
    with opened_metrics(home, arguments.metrics) as gauges:
        return asyncio.run(_monitor(chosen, gauges, as_json=as_json, once=arguments.once))


def _tokens(path: Path) -> dict[str, str]:
    """Of the file that systemd reads, too: launchd and containers read none."""
    if not path.exists():
        return {}
    lines = read_private(path).decode("utf-8", "replace").splitlines()
    pairs = (line.partition("=") for line in map(str.strip, lines) if line[:1] not in ("#", ";"))
    return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}


def _about_service(home: Home, arguments: Namespace) -> int:
    from zuno_tui.app import monitor_service

    if arguments.health:
        return monitor_service.health(home, time.time(), as_json=bool(arguments.json))
    root = home.root if arguments.home or not arguments.server else monitor_service.SERVER_HOME
    options = _options(arguments)
    if arguments.check:
        return monitor_service.check(
            Home(root, home.cache), os.environ, time.time(), server=arguments.server
        )
    if arguments.install:
        return monitor_service.install(root, options, os.environ, server=arguments.server)
    unit = monitor_service.unit_text(root, options, server=arguments.server)
    print_exactly([unit.rstrip("\n")])
    return DONE


async def _monitor(chosen: SettingsSource, gauges: Gauges, *, as_json: bool, once: bool) -> int:
    stop = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    supervisor = Supervisor.from_environment(os.environ)
    aloud = Speaker(supervisor, as_json=as_json)

    def speaker(note: Note) -> None:
        gauges.hear(note)
        aloud(note)

    try:
        chosen.home.prepare()
    except HomeError as error:
        # A home that cannot be written is no reason to look away.
        say(str(error))
    with closing(AlertStore.open(chosen.home, now=time.time())) as book:
        for notice in book.notices:
            say(notice)
        watchlist = HomeWatchlist(chosen, book, tell=speaker, also=(Aloud(as_json=as_json),))
        say(_headline(watchlist))
        pulse = asyncio.create_task(_pulse(supervisor), name="pulse")
        try:
            beat = await run_monitor(
                chosen.home, book, watchlist, tell=speaker, stop=stop, once=once
            )
        finally:
            supervisor.report_stop()
            pulse.cancel()
            await watchlist.close()
    return _code(beat) if once else DONE


def _options(arguments: Namespace) -> list[str]:
    """What was named for this run, but for endpoints: their keys do not belong into a unit."""
    named = {
        "--network": arguments.network,
        "--address": arguments.address,
        "--interval": arguments.interval,
        "--metrics": arguments.metrics,
    }
    return [str(part) for pair in named.items() if pair[1] is not None for part in pair]


async def _pulse(supervisor: Supervisor) -> None:
    """Tell the watchdog that this loop turns, three times as often as it must hear it."""
    if supervisor.watchdog_seconds is None:
        return
    while True:
        supervisor.alive()
        await asyncio.sleep(supervisor.watchdog_seconds / 3)


def _headline(watchlist: HomeWatchlist) -> str:
    places = "; ".join(
        f"{target.network.title}: {', '.join(shorten_address(wallet) for wallet in target.wallets)}"
        for target in watchlist.targets
    )
    channels = ", ".join(
        channel.name for channel in watchlist.channels() if channel.name != Aloud.name
    )
    sending = f"Alerts go to {channels}." if channels else "Alerts appear only here."
    return f"{places}. Every {watchlist.interval_seconds:g} s. {sending}"


def _code(beat: Beat | None) -> int:
    """What a single look came to; somebody else watching is as good as our own look."""
    if beat is None:
        return DONE
    if any(sight.block is None for sight in beat.sights):
        return NETWORK
    return DONE if beat.trouble is None else FAILED
