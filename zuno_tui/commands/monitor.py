"""`zuno monitor`: watch over every wallet and network, headless, until told to end."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Argument, Intent


class Monitor(Intent, frozen=True):
    command: ClassVar = ("monitor",)
    arguments: ClassVar = (
        Argument("--once", "poll once, send what waits, and end", switch=True),
        Argument("--interval", "seconds between polls, at least 5", metavar="S", read=float),
        Argument("--systemd-unit", "print a unit file for this zuno and stop", switch=True),
        Argument(
            "--server",
            "with --systemd-unit: for a server, as a user of its own that may do little else",
            switch=True,
        ),
        Argument("--install", "write the unit (systemd or launchd), say what to type", switch=True),
        Argument("--check", "whether the service is set up and watches", switch=True),
        Argument("--health", "exit 0 when somebody watches and sees everything", switch=True),
        Argument("--metrics", "serve figures for Prometheus", metavar="127.0.0.1:PORT"),
    )

    once: bool = False
    interval: float | None = None
    systemd_unit: bool = False
    server: bool = False
    install: bool = False
    check: bool = False
    health: bool = False
    metrics: str | None = None


COMMAND = Command(
    does="watch your positions, send alerts, carry out orders",
    group=Group.WATCHING,
    intent=Monitor,
    run=lambda arguments: app.monitor.run(arguments),
)
