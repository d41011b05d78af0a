"""`zuno monitor`: watch over every wallet and network, headless, until told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from agents.monitor.alerts.store import AlertStore
from agents.monitor.sd_notify import Supervisor
from agents.monitor.service import run_monitor
from chain.base.home import Home, HomeError
from chain.contracts.checksum import shortened
from zuno_tui.app.monitor_output import Aloud, Speaker
from zuno_tui.app.session import flags_of, say
from zuno_tui.app.watchlist import HomeWatchlist, SettingsSource
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import print_exactly
from zuno_tui.settings.monitor import monitor_interval

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from agents.monitor.heartbeat import Beat

WATCHDOG_SECONDS = 120

_UNIT = """\
# For one person: ~/.config/systemd/user/zuno-monitor.service, then
#   systemctl --user enable --now zuno-monitor
#   loginctl enable-linger      # so that it goes on when you log out
# Tokens belong into monitor.env in zuno's home (chmod 600), not into this file.

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

[Install]
WantedBy=default.target
"""


def unit_text(home: Path, options: Sequence[str] = ()) -> str:
    command = (sys.executable, "-m", "zuno_tui", "monitor", "--home", str(home), *options)
    return _UNIT.format(
        command=" ".join(_quoted(word) for word in command),
        environment=_specifiers(str(home / "monitor.env")),
        watchdog=WATCHDOG_SECONDS,
    )


def _quoted(word: str) -> str:
    """One argument as systemd reads it, whatever characters it has."""
    escaped = _specifiers(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(char in word for char in " \t\"'\\;") else escaped


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    if arguments.systemd_unit:
        print_exactly([unit_text(home.root, _options(arguments)).rstrip("\n")])
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
        f"{target.network.title}: {', '.join(shortened(one) for one in target.wallets)}"
        for target in watchlist.targets
    )
    channels = ", ".join(one.name for one in watchlist.channels() if one.name != Aloud.name)
    sending = f"Alerts go to {channels}." if channels else "Alerts go nowhere but here."
    return f"{places}. Every {watchlist.interval_seconds:g} s. {sending}"


def _code(beat: Beat | None) -> int:
    """What a single look came to; somebody else watching is as good as our own look."""
    if beat is None:
        return DONE
    if any(sight.block is None for sight in beat.sights):
        return NETWORK
    return DONE if beat.trouble is None else FAILED
