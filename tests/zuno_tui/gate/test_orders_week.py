"""A week of the embedded market with three orders and nobody there, the monitor killed twice."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chain.base.home import Home
from chain.base.units import DAY
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.order import StandingState
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_standing_orders import STATE, level, ordered
from tests.zuno_tui.monitor_process import MonitorProcess, command

SLICE = 1_500
"""Seconds between two looks: less than the gap after which a condition begins anew."""


@contextmanager
def watched(desk: Desk) -> Iterator[MonitorProcess]:
    arguments = command(
        desk.command.home, desk.devnet.url, interval=5.0, address=desk.devnet.wallet
    )
    with MonitorProcess.running(arguments) as monitor:
        yield monitor


def head_time(desk: Desk) -> int:
    return int(desk.ask("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


def slice_until(desk: Desk, monitor: MonitorProcess, book: StandingOrders, end: int) -> None:
    """Time passes as fast as the monitor looks."""
    while (now := head_time(desk)) < end:
        waiting = [
            kept.order.number for kept in book.all() if kept.progress.state is StandingState.WAITING
        ]

        def looked(now: int = now, waiting: list[int] = waiting) -> bool:
            found = [book.find(number).progress for number in waiting]
            return all(
                one.state is not StandingState.WAITING or (one.looked_at or 0) >= now
                for one in found
            )

        monitor.until(looked)
        sent = any(kept.progress.state is StandingState.SENT for kept in book.all())
        desk.ask("zuno_step", 60 if sent else min(SLICE, max(1, end - now)))
        if sent:
            polls = len(monitor.of("poll"))
            monitor.until(lambda polls=polls: len(monitor.of("poll")) > polls)  # type: ignore[misc]


@pytest.mark.soak
def test_a_week_with_three_orders_and_nobody_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with embedded_chain() as ready:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        desk.delegate()
        token_id, other = str(desk.token_id(STATE)), str(desk.token_id("native"))
        ordered(desk, "close", token_id, "below", level(desk, 0.985))
        ordered(desk, "close", token_id, "above", level(desk, 1.015))
        ordered(desk, "collect", other, "every", "1d", "over", "$0.01", "times", "3")
        book = StandingOrders(Home.locate(os.environ, desk.command.home).orders)
        start = head_time(desk)
        for part in range(3):
            with watched(desk) as monitor:
                slice_until(desk, monitor, book, start + (part + 1) * 7 * DAY // 3)
                if part < 2:
                    monitor.end(signal.SIGKILL)
                else:
                    monitor.until(lambda: bool(monitor.of("poll")))
        orders = desk.here("orders", "--json").data["orders"]
        scored = desk.here("scorecard", "--json").data["orders"]
        alerts = desk.here("alerts", "--json").out
    states = {one["number"]: (one["state"], one["done"]) for one in orders}
    took = time.monotonic() - began
    printed(
        f"G30: a week in {took:.0f} s, three orders, two kills: {states}; "
        + "; ".join(f"order {one['number']} {one['gained']:+.2%} against keeping" for one in scored)
    )

    closes = [states[1][0], states[2][0]]
    assert sorted(closes) == ["done", "ended"], orders
    assert states[3][1] == 3, orders
    assert len(scored) == 1
    assert scored[0]["keptWorth"] > 0
    assert "was carried out" in alerts
