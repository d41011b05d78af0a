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
from zuno_tui.app.session import SettingsSource, flags_of, say
from zuno_tui.app.watchlist import HomeWatchlist
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
            about = f"{report.network} {shorten_address(report.wallet_address)}"
            known = report.trouble == beat.trouble
            self._on_change(about, None if known else report.trouble)
        self._on_change("", beat.trouble)
        if beat.trouble is not None:
            self._line({"type": "trouble", "trouble": beat.trouble})
        seen = ", ".join(
            f"{sight.network} {'blind' if sight.block is None else f'block {sight.block:,}'}"
            for sight in beat.sights
        )
        self._supervisor.doing(f"{seen or 'nothing seen'}, in {seconds:.1f} s")

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
        "opened": report.opened_count,
        "resolved": report.resolved_count,
        "requests": report.requests,
        "seconds": round(report.seconds, 3),
        "trouble": report.trouble,
    }


WATCHDOG_SECONDS = 120

_FOR_A_PERSON = """\
# For one person: ~/.config/systemd/user/zuno-monitor.service, then
#   systemctl --user enable --now zuno-monitor
#   loginctl enable-linger      # so that it goes on when you log out
"""
_FOR_A_SERVER = """\
# For a server, as a user of its own: /etc/systemd/system/zuno-monitor.service, then
#   sudo useradd --system --home-dir {home} zuno
#   sudo install -d -m 700 -o zuno {home}
#   sudo -u zuno cp settings.toml {home}/ && sudo systemctl enable --now zuno-monitor
# It watches and never signs: no key belongs into that home.
"""
_HARDENED = """\
User=zuno
ReadWritePaths={home}
BindReadOnlyPaths={prefix}
AmbientCapabilities=
CapabilityBoundingSet=
DevicePolicy=closed
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=tmpfs
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
"""
_UNIT = """\
{head}# Tokens belong into monitor.env in zuno's home (chmod 600), not into this file.

[Unit]
Description=zuno watches liquidity positions and sends alerts
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
EnvironmentFile=-{environment}
Restart=always
RestartSec=5
WatchdogSec={watchdog}
TimeoutStartSec=60
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
{hardening}
[Install]
WantedBy={target}
"""


def unit_text(home: Path, options: Sequence[str] = (), *, server: bool = False) -> str:
    """For one person; with `server` for the machine, as a user of its own."""
    command = (sys.executable, "-m", "zuno_tui", "monitor", "--home", str(home), *options)
    place = _unit_path(home)
    return _UNIT.format(
        head=(_FOR_A_SERVER if server else _FOR_A_PERSON).format(home=place),
        command=" ".join(_quoted(word) for word in command),
        environment=_specifiers(str(home / "monitor.env")),
        watchdog=WATCHDOG_SECONDS,
        hardening=_HARDENED.format(home=place, prefix=_unit_path(sys.prefix)) if server else "",
        target="multi-user.target" if server else "default.target",
    )


def _unit_path(path: Path | str) -> str:
    """In a list of paths a space would begin another."""
    return _specifiers(str(path)).replace(" ", "\\x20")


def _quoted(word: str) -> str:
    """One argument as systemd reads it, whatever characters it has."""
    escaped = _specifiers(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(char in word for char in " \t\"'\\;") else escaped


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SERVER_HOME = Path("/var/lib/zuno")


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    if arguments.systemd_unit:
        root = home.root if arguments.home or not arguments.server else SERVER_HOME
        unit = unit_text(root, _options(arguments), server=arguments.server)
        print_exactly([unit.rstrip("\n")])
        return DONE
    interval = None if arguments.interval is None else monitor_interval(arguments.interval)
    chosen = SettingsSource(home, flags_of(arguments), os.environ, interval)
    # At a terminal a person reads; anything else that listens wants data.
    as_json = bool(arguments.json) or not sys.stdout.isatty()
    return asyncio.run(_monitor(chosen, as_json=as_json, once=arguments.once))


async def _monitor(chosen: SettingsSource, *, as_json: bool, once: bool) -> int:
    stop = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    supervisor = Supervisor.from_environment(os.environ)
    speaker = Speaker(supervisor, as_json=as_json)
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
            supervisor.stopping()
            pulse.cancel()
            await watchlist.close()
    return _code(beat) if once else DONE


def _options(arguments: Namespace) -> list[str]:
    """What was named for this run, but for endpoints: their keys do not belong into a unit."""
    named = {
        "--network": arguments.network,
        "--address": arguments.address,
        "--interval": arguments.interval,
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
