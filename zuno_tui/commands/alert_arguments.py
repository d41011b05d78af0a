"""The words and flags of `zuno alerts` and `zuno monitor`."""

from __future__ import annotations

import argparse


def add_watching(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    alerts = commands.add_parser("alerts", parents=[shared], help="what needs you; ack, mute")
    alerts.add_argument("--all", action="store_true", help="those that are over, too")
    alerts.set_defaults(action="list")
    _add_actions(alerts, shared)
    monitor = commands.add_parser("monitor", parents=[shared], help="watch, and send alerts")
    monitor.add_argument("--once", action="store_true", help="poll once, send what waits, and end")
    monitor.add_argument(
        "--interval", metavar="S", type=float, help="seconds between polls, at least 5"
    )
    monitor.add_argument(
        "--systemd-unit", action="store_true", help="print a unit file for this zuno and stop"
    )


def _add_actions(alerts: argparse.ArgumentParser, shared: argparse.ArgumentParser) -> None:
    actions = alerts.add_subparsers(metavar="ack|mute")
    ack = actions.add_parser("ack", parents=[shared], help="say that you know, of one or of all")
    mute = actions.add_parser("mute", parents=[shared], help="silence one or all, with an end")
    for action, name in ((ack, "ack"), (mute, "mute")):
        action.set_defaults(action=name)
        action.add_argument("alert_id", metavar="ID|all", type=_alert_id)
    ending = mute.add_mutually_exclusive_group(required=True)
    ending.add_argument("--for", dest="duration", metavar="TIME", help="like 2h, 30min or 1d")
    ending.add_argument("--until", metavar="WHEN", help="like 2026-12-01T08:00, by your own clock")


def _alert_id(text: str) -> int | None:
    """None for all of them."""
    if text == "all":
        return None
    digits = text.removeprefix("#")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not an alert's number, like 3, nor all")
    return int(digits)
