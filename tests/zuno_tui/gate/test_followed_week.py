"""A week of the embedded market: moves in a row and compounds, against the same left alone."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from chain.base.home import Home
from chain.base.units import DAY
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.call import call_in
from chain.standing_orders.order import StandingState
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_order_walks import sign_here
from tests.zuno_tui.gate.test_standing_orders import STATE
from tests.zuno_tui.monitor_process import MonitorProcess, command

NETWORK = network_named("devnet")
MOVES, SHIFT, HALF = 3, 100, 100
LIQUIDITY = 4 * 10**16
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


def dollars(amounts: Amounts, price: int) -> float:
    return (amounts[0] * price**2 / (1 << 192) + amounts[1]) / 10**6


def held_in(desk: Desk, ref: str) -> Amounts:
    """In a position with its fees, both coins."""
    told = desk.positions().get(ref)
    if told is None:
        return Amounts(0, 0)
    span = Span(told["tickLower"], told["tickUpper"])
    inside = span.holds(desk.price(told["poolId"]), int(told["liquidity"]), round_up=False)
    return inside.plus(Amounts(int(told["fees0"]), int(told["fees1"])))


@pytest.mark.soak
def test_a_week_of_three_moves_and_compounds_against_leaving_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with embedded_chain() as ready, httpx2.Client(verify=False) as http:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        desk.delegate()
        told = desk.positions()[str(desk.token_id(STATE))]
        key = PoolKey(
            *(told[name] for name in ("currency0", "currency1", "fee", "tickSpacing", "hooks"))
        )
        moves = Moves(http, desk.devnet.url, NETWORK)
        tick = WalkedPool(moves, key).tick // 10 * 10
        owner = desk.devnet.wallet
        ticks = (tick - HALF, tick + HALF)
        ref, alone = map(str, moves.mint(MEDIUM_PROVIDER, key, [ticks] * 2, LIQUIDITY, owner))
        places = [
            (ticks[0] + SHIFT * step, ticks[1] + SHIFT * step) for step in range(1, MOVES + 1)
        ]
        ids = list(map(str, moves.mint(MEDIUM_PROVIDER, key, places, 1, owner)))
        end = desk.positions()[ref]["priceUpper"] * 1.0001**SHIFT
        before = held_in(desk, ref)
        sign_here(desk, "compound", ref, "every", "6h", "over", "$2", "times", "8")
        sign_here(desk, "move", ref, "up", "to", f"{end:.4f}", "--follow", str(MOVES))
        pair = (key.currency0, key.currency1)
        wallet = Amounts(*(desk.held(owner, token) for token in pair))
        book = StandingOrders(Home.locate(os.environ, desk.command.home).orders)
        start = head_time(desk)
        for part in range(2):
            with watched(desk) as monitor:
                slice_until(desk, monitor, book, start + (part + 1) * 7 * DAY // 2)
                if part:
                    monitor.until(lambda: bool(monitor.of("poll")))
                else:
                    monitor.end(signal.SIGKILL)
        price = desk.price(key.pool_id)
        found = [held_in(desk, each) for each in (ref, *ids)]
        came = [desk.held(owner, token) - then for token, then in zip(pair, wallet, strict=True)]
        total = Amounts(*(sum(each[place] for each in found) + came[place] for place in (0, 1)))
        left = held_in(desk, alone)
        gas, cost, counts = 0, 0, dict[str, int]()
        for kept in book.all():
            kind = call_in(kept.order, NETWORK).kind
            counts[kind] = counts.get(kind, 0) + kept.progress.done
            for result in kept.progress.results:
                receipt = desk.ask("eth_getTransactionReceipt", result)
                used, paid = (int(receipt[name], 16) for name in ("gasUsed", "effectiveGasPrice"))
                gas, cost = gas + used, cost + used * paid
        scored = desk.here("scorecard", "--json").data["orders"]
    took = time.monotonic() - began
    printed(
        f"a week in {took:.0f} s: {counts}; from ${dollars(before, price):,.2f} at the last price: "
        f"with the orders ${dollars(total, price):,.2f}, left alone ${dollars(left, price):,.2f}; "
        f"{gas:,} gas, ${cost * price**2 / (1 << 192) / 10**6:,.2f}; "
        + "; ".join(each["words"] for each in scored)
    )

    assert counts["follow"] == MOVES, counts
    assert counts["compound"] >= 1
    assert len(scored) == MOVES + 1
