"""Two monitors in processes of their own, with one watch key, over one Anvil and a real NATS."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.delegation import LIMITED_CALLS
from chain.contracts.signed_delegation import ask_count
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.order import StandingOrder, StandingProgress, StandingState
from tests.agents.mesh.nats_servers import nats_server
from tests.agents.mesh.processes import nats_program
from tests.printed import printed
from tests.waiting import wait_until
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_standing_orders import STATE, level, ordered, paid_by_watch_key, push
from tests.zuno_tui.monitor_process import MonitorProcess, command

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(nats_program() is None, reason="no nats-server: make nats-server"),
]
INTERVAL = 60.0
BLOCK_SECONDS = 12
HOLD = 120


@dataclass
class Machine:
    desk: Desk
    monitor: MonitorProcess

    @property
    def progress(self) -> StandingProgress:
        return StandingOrders(self.desk.command.home / "orders").find(1).progress

    def until(self, happened: Callable[["Machine"], bool]) -> None:
        wait_until(lambda: happened(self), lambda: f"{self.progress} {self.monitor.told()}")

    def is_done(self) -> bool:
        return self.progress.state is StandingState.DONE

    def saw(self, time: int) -> bool:
        """Whether it has looked at a block of that time, or will never look again."""
        with suppress(OSError):
            progress = self.progress
            over = progress.state in (StandingState.DONE, StandingState.ENDED)
            sent = progress.state is StandingState.SENT
            return over or sent or (progress.looked_at or 0) >= time
        return False


@dataclass
class Pair:
    first: Machine
    standby: Machine
    order: StandingOrder
    cut: Callable[[], None]
    began: int
    """The block before the order could be due."""

    @property
    def desk(self) -> Desk:
        return self.first.desk

    def head(self) -> dict[str, str]:
        found: dict[str, str] = self.desk.ask("eth_getBlockByNumber", "latest", False)
        return found

    @property
    def effects(self) -> int:
        data = "0x" + ask_count(self.order.delegation_signed).hex()
        return int(self.desk.ask("eth_call", {"to": LIMITED_CALLS, "data": data}, "latest"), 16)

    def block(self, *looking: Machine) -> int:
        """A block twelve seconds later, that these have looked at; its time."""
        self.desk.ask("anvil_mine", "0x1", hex(BLOCK_SECONDS))
        time = int(self.head()["timestamp"], 16)
        for machine in looking:
            machine.until(lambda seen: seen.saw(time) or bool(self.effects))
        return time

    def due(self, *looking: Machine) -> int:
        """Pushed past its level, and held there: the time from which the order is due."""
        push(self.desk, self.order, bips=150)
        began = self.block(*looking)
        now = began
        while now - began < HOLD:
            now = self.block(*looking)
        return now

    def paid(self) -> list[bool]:
        return paid_by_watch_key(self.desk, self.began)


@pytest.fixture
def pair(desk: Desk, tmp_path: Path) -> Iterator[Pair]:
    desk.delegate()
    ordered(desk, "close", str(desk.token_id(STATE)), "below", level(desk, 0.99))
    other = replace(desk, command=CommandLine(tmp_path / "standby"))
    other.command.home.mkdir(mode=0o700)
    folder = tmp_path / "carried"
    assert desk.here("order", "export", "all", str(folder)).code == 0
    assert other.here("order", "import", str(folder)).code == 0
    assert desk.here("orders", "first").code == 0
    assert other.here("orders", "standby").code == 0
    with nats_server(tmp_path / "nats") as (port, cut):
        server = f"nats://127.0.0.1:{port}"
        init = ("mesh", "init", "--engine", "nats", "--server", server)
        assert desk.command(*init).code == 0
        shutil.copytree(desk.command.home / "mesh", other.command.home / "mesh")
        with running(desk) as one, running(other, behind=True) as two:
            order = StandingOrders(desk.command.home / "orders").find(1).order
            began = int(desk.ask("eth_blockNumber"), 16)
            yield Pair(Machine(desk, one), Machine(other, two), order, cut, began)


@contextmanager
def running(desk: Desk, *, behind: bool = False) -> Iterator[MonitorProcess]:
    url = desk.rpc or desk.devnet.url
    with MonitorProcess.running(command(desk.command.home, url, interval=INTERVAL)) as monitor:
        monitor.until(lambda: any(line["here"] is not behind for line in monitor.of("orders")))
        yield monitor


def carried(desk: Desk) -> dict[str, Any]:
    spoken = desk.here("orders", "--json")
    assert spoken.code == 0, spoken.words
    found: dict[str, Any] = spoken.data["carrier"]
    return found


def test_a_standby_takes_over_within_a_minute_of_a_kill(pair: Pair) -> None:
    pair.first.monitor.end(signal.SIGKILL)
    due, now = pair.due(pair.standby), 0
    while not pair.effects:
        now = pair.block(pair.standby)
        assert now - due <= 60, pair.standby.monitor.told()
        # What is on its way is waited for, and no block goes by meanwhile.
        pair.standby.until(
            lambda seen: seen.progress.state is not StandingState.SENT or bool(pair.effects)
        )
    for _ in range(4):
        pair.block()
    pair.standby.until(Machine.is_done)
    printed(f"standby: carried out {now - due} s after it was due, {pair.paid()} paid")

    assert (pair.effects, pair.paid()) == (1, [True])
    assert len(pair.standby.progress.results) == 1
    assert pair.first.progress.state is StandingState.WAITING


def test_with_both_alive_one_carries_it_out_and_the_other_pays_nothing(pair: Pair) -> None:
    both = pair.first, pair.standby
    here, there = carried(pair.first.desk), carried(pair.standby.desk)
    standby = pair.standby.desk.command
    page = pair.standby.desk.here("orders").out
    checked, healthy = standby("monitor", "--check"), standby("monitor", "--health", "--json")
    pair.due(*both)
    # However long it takes to sign and send: the chain's clock stands still meanwhile.
    pair.first.until(lambda first: first.progress.state is not StandingState.WAITING)
    for _ in range(8):
        pair.block(*both)
    for machine in both:
        machine.until(Machine.is_done)

    assert (pair.effects, pair.paid()) == (1, [True])
    # A slow machine may lose its lease while it acts: whichever of them did it, it is done once.
    assert sum(len(machine.progress.results) for machine in both) == 1
    assert (here["first"], there["first"]) == (True, False)
    host = there["otherHost"]
    assert host == here["here"]["host"]
    assert f"Carried out by {host} since 20" in page
    assert f"orders    Carried out by {host} since 20" in checked.out
    assert f"Carried out by {host} since 20" in healthy.data["orders"]
    assert "This machine tries what was left for 36 s" in checked.out


@pytest.mark.soak
def test_with_the_server_cut_off_it_is_carried_out_once(pair: Pair) -> None:
    both = pair.first, pair.standby
    pair.cut()
    pair.desk.ask("evm_setAutomine", False)
    pair.due(*both)
    for _ in range(8):
        pair.block(*both)
    pair.desk.ask("evm_setAutomine", True)
    for machine in both:
        machine.until(Machine.is_done)

    assert (pair.effects, pair.paid()) == (1, [True])
    wait_until(lambda: any(line["here"] is None for line in pair.standby.monitor.of("orders")))
    told = [line["trouble"] for line in pair.standby.monitor.of("trouble")]
    assert any("Who tries orders first is not known" in words for words in told)
