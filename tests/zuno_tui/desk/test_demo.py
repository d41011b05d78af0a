"""The demo at the desk, and what works behind it."""

import asyncio
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chain.contracts.delegation import delegated_code
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import PositionRef, v4_position
from tests.virtual_time import pass_time
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import (
    ConfirmationAsked,
    Event,
    HelpAsked,
    HintChanged,
    PlanChanged,
    PositionsChanged,
    QuitAsked,
    Said,
)
from zuno_tui.desk.thread import DeskThread
from zuno_tui.features.orders.intents import OrderClose
from zuno_tui.features.trade.events import TradeChanged
from zuno_tui.features.trade.intents import Hedge, Trade
from zuno_tui.intents.intents import Apply, Approve, Cancel, Help, Quit, Show


@pytest.fixture
def hurrying(node: Node, changed_world: None) -> Iterator[None]:
    # Approvals of other tests are open as long as the chain they share stands still.
    for reason in node("zuno_status")["holds"]:
        node("zuno_letGo", reason)
    node("zuno_setSpeed", 60)
    yield
    node("zuno_pause")


@pytest.fixture
def healthy(node: Node) -> PositionRef:
    return v4_position(node("zuno_status")["positions"]["healthy"])


@pytest.fixture
def delegated(devnet: DevnetReady, node: Node, changed_world: None) -> None:
    """The wallet's account accepts delegations."""
    code = delegated_code(str(devnet.contracts.delegate)).hex()
    node("anvil_setCode", devnet.wallet, f"0x{code}")


@pytest.mark.usefixtures("hurrying")
async def test_the_market_waits_while_a_person_decides(
    devnet: DevnetReady, node: Node, tmp_path: Path, healthy: PositionRef
) -> None:
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        await desk.ask(Approve("plan_0000000000000000"))
        await desk.desk.idle()
        refused = node("zuno_status")["speed"]
        await desk.ask(CollectFees((healthy,)))
        await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        deciding = node("zuno_status")["speed"]
        await desk.ask(Apply())
        approval = (await desk.until(ConfirmationAsked)).approval
        await desk.desk.confirm(approval.hash, "apply", None)
        await desk.until(PlanChanged, lambda told: bool(told.view and told.view.result))
        await desk.desk.idle()
        decided = node("zuno_status")["speed"]

    assert (refused, deciding, decided) == (60, 1, 60)
    hints = [event.words for event in desk.all_heard(HintChanged)]
    assert "Reading the chain" in hints[0]
    assert any("type apply" in words for words in hints)
    assert "is out of range" in hints[-1] or hints[-1].startswith("Applied.")


@pytest.mark.usefixtures("hurrying")
async def test_an_approval_that_lapses_lets_the_market_go_and_says_so(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    positions = node("zuno_status")["positions"]
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        for name in ("healthy", "native"):  # the first is left for the second
            token_id = v4_position(positions[name])
            await desk.ask(CollectFees((token_id,)))
            await desk.until(
                PlanChanged,
                lambda told, ref=token_id: bool(  # type: ignore[misc]
                    told.view and told.view.approval and told.view.ref == ref
                ),
            )
        await desk.desk.idle()
        assert len(node("zuno_status")["holds"]) == 2, "the approvals', and nothing besides"
        node("zuno_step", 700)
        lapsed = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.lapsed))
        await desk.until(HintChanged, lambda told: "approval lapsed" in told.words)
        await pass_time(4.0)
        after = node("zuno_status")

    assert (after["speed"], after["holds"]) == (60, [])
    assert lapsed.view is not None
    assert lapsed.view.approval is None


@pytest.mark.usefixtures("hurrying")
async def test_the_market_waits_while_a_person_decides_on_a_trade(
    devnet: DevnetReady, node: Node, tmp_path: Path, healthy: PositionRef
) -> None:
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.ask(Hedge(healthy))
        told = await desk.until(TradeChanged, lambda told: bool(told.view.verdict))
        await desk.desk.idle()
        assert node("zuno_status")["speed"] == (1 if told.view.next_phrase else 60)
        await desk.ask(Trade("DOGE"))
        await desk.desk.idle()
        assert node("zuno_status")["speed"] == 60, "there is nothing to decide"


@pytest.mark.usefixtures("hurrying")
async def test_what_an_order_needs_first_is_said_last(
    devnet: DevnetReady, node: Node, tmp_path: Path, healthy: PositionRef
) -> None:
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.ask(OrderClose(healthy, ("below", "2000")))
        await desk.until(Said, lambda said: "×60 again" in said.words)
        last = await desk.until(Said, lambda said: "type delegate" in said.words)
        assert desk.all_heard(Said)[-1] == last


@pytest.mark.usefixtures("hurrying")
async def test_an_approval_that_is_taken_back_lets_the_market_go_and_is_never_applied(
    devnet: DevnetReady, node: Node, tmp_path: Path, healthy: PositionRef
) -> None:
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.ask(CollectFees((healthy,)))
        told = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        await desk.desk.idle()
        assert told.view is not None
        deciding = node("zuno_status")
        await desk.ask(Cancel())
        taken, card = desk.heard_last(Said), desk.heard_last(PlanChanged).view
        decided = node("zuno_status")
        await desk.ask(Apply(told.view.plan_id))
        await desk.desk.idle()
        refused = desk.heard_last(Said)
        await desk.ask(Cancel())
        nothing = desk.heard_last(Said)

    assert (deciding["speed"], deciding["held"]) == (1, True)
    assert (decided["speed"], decided["held"]) == (60, False)
    assert "taken back" in taken.words
    assert card is None
    assert "taken back" in refused.words
    assert nothing.words.startswith("Nothing is running.")
    assert not desk.all_heard(ConfirmationAsked)


@pytest.mark.usefixtures("hurrying", "delegated")
async def test_the_market_waits_until_an_order_is_signed(
    devnet: DevnetReady, node: Node, tmp_path: Path, healthy: PositionRef
) -> None:
    async with sitting(opening(tmp_path, devnet.url, demo=True)) as desk:
        await desk.ask(OrderClose(healthy, ("below", "2000")))
        approval = (await desk.until(ConfirmationAsked)).approval
        await desk.desk.idle()
        deciding = node("zuno_status")
        await desk.desk.confirm(approval.hash, "apply", None)
        await desk.until(PlanChanged, lambda told: bool(told.view and told.view.result))
        await desk.desk.idle()
        decided = node("zuno_status")

    assert (deciding["speed"], deciding["held"]) == (1, True)
    assert (decided["speed"], decided["held"]) == (60, False)


@pytest.mark.usefixtures("hurrying", "delegated")
def test_the_market_waits_for_an_order_that_was_asked_for_in_the_shell(
    node: Node, zuno: CommandLine, on_devnet: tuple[str, ...], healthy: PositionRef
) -> None:
    asked = zuno("order", "close", str(healthy), "below", "2000", *on_devnet, "--json")
    assert asked.code == 0, asked.words
    deciding = node("zuno_status")
    signed = zuno("apply", asked.data["planId"], "--confirm", asked.data["hash"], *on_devnet)
    decided = node("zuno_status")

    assert signed.code == 0, signed.words
    listed = zuno("orders", *on_devnet)
    assert "1 order waits: nobody seems to watch" in listed.out
    assert (deciding["speed"], deciding["held"]) == (1, True)
    assert (decided["speed"], decided["held"]) == (60, False)


@pytest.mark.usefixtures("hurrying")
def test_the_market_waits_for_an_approval_given_in_the_shell(
    node: Node, zuno: CommandLine, on_devnet: tuple[str, ...], healthy: PositionRef
) -> None:
    approved = zuno("collect", str(healthy), *on_devnet, "--json")
    assert approved.code == 0, approved.words
    deciding = node("zuno_status")
    applied = zuno("apply", "--confirm", approved.data["hash"], *on_devnet)
    decided = node("zuno_status")

    assert applied.code == 0, applied.words
    assert (deciding["speed"], deciding["held"]) == (1, True)
    assert (decided["speed"], decided["held"]) == (60, False)


PATIENCE = HUNG_SECONDS
_IMPORTED = """
import sys
import zuno_tui.commands.desk_actions
import zuno_tui.desk.thread, zuno_tui.desk.thread, zuno_tui.desk.context
print(*sys.modules)
"""


def test_what_is_asked_is_answered_from_another_thread(devnet: DevnetReady, tmp_path: Path) -> None:
    heard: queue.Queue[tuple[int, Event]] = queue.Queue()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, devnet.url)

    room = DeskThread(opened, lambda event: heard.put((threading.get_ident(), event)))
    room.start()
    room.ask(Show("positions"))
    told: list[Event] = []
    while not any(isinstance(event, PositionsChanged) for event in told):
        thread, event = heard.get(timeout=PATIENCE)
        assert thread != threading.get_ident()
        told.append(event)
    room.close()

    assert room.wait_closed(PATIENCE)
    room.ask(Show("positions"))
    room.confirm("", "apply", None)


def test_leaving_and_help_wait_for_no_desk(tmp_path: Path) -> None:
    told: list[Event] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, told.append)
    room.ask(Help("recommend"))
    room.ask(Quit())

    assert told == [HelpAsked("recommend"), QuitAsked()]


def test_leaving_ends_an_opening_that_takes_long(tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, lambda _: None)
    room.start()
    assert begun.wait(PATIENCE)
    room.close()

    assert room.wait_closed(PATIENCE)
    assert ended.is_set()


def test_a_screen_that_holds_a_room_pays_for_nothing_heavy() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _IMPORTED], capture_output=True, text=True, timeout=60, check=True
    )

    imported = set(told.stdout.split())
    assert "zuno_tui.desk.thread" in imported
    assert imported.isdisjoint(
        {"web3", "openai", "pydantic", "eth_account", "httpcore2", "sqlite3"}
    )
    assert not {name for name in imported if name.startswith(("agents.", "chain.execution"))}


def test_a_room_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    heard: queue.Queue[Event] = queue.Queue()

    @asynccontextmanager
    async def opened() -> AsyncIterator[DeskOpening]:
        yield opening(tmp_path, "nowhere")

    room = DeskThread(opened, heard.put)
    room.start()

    assert room.wait_closed(PATIENCE)
    told = heard.get_nowait()
    assert isinstance(told, Said)
    assert "--rpc must be a URL" in told.words
    room.ask(Show("positions"))
    assert heard.get_nowait() == Said(told.words, "bad", "zuno positions")
