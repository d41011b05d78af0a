"""What the shell prints and its JSON holds are the rows and figures that the desk shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from chain.protocols.reference import v4_position
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.catalog.intents import Apply
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import ConfirmationAsked, PlanChanged
from zuno_tui.present.receipt_lines import page_text, receipt_document

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.conftest import Node

pytestmark = pytest.mark.usefixtures("changed_world")

ACTIONS: dict[str, tuple[str, ...]] = {
    "collect": ("collect", "@"),
    "close": ("close", "@"),
    "remove a part": ("decrease", "@", "40"),
    "add": ("increase", "@", "0.01 WETH"),
}


@pytest.mark.parametrize("words", ACTIONS.values(), ids=ACTIONS)
async def test_the_page_that_signs_has_the_figures_of_the_shells_approval(
    devnet: DevnetReady,
    node: Node,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    token_id = str(node("zuno_status")["positions"]["healthy"])
    home = tmp_path / "home"
    shell = Desk(devnet, CommandLine(home), capsys)
    line = tuple(token_id if word == "@" else word for word in words)

    approved = await asyncio.to_thread(shell.approved, *line)
    async with sitting(opening(home, devnet.url)) as desk:
        await desk.ask(Apply(approved["planId"]))
        page = (await desk.until(ConfirmationAsked)).approval

    told = approved["receipt"]
    assert page.hash == approved["hash"]
    assert told["costUsd"] is not None
    assert told["mostUsd"] >= told["costUsd"] > 0
    # A plan's own estimate is known to whoever approved it alone.
    shown = receipt_document(page)
    assert shown == {**told, "plannedUsd": None}


async def test_the_shell_prints_the_desks_page_cost_and_worst_case_first(
    devnet: DevnetReady, node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token_id = int(node("zuno_status")["positions"]["healthy"])
    home = tmp_path / "home"
    shell = Desk(devnet, CommandLine(home), capsys)
    printed = (await asyncio.to_thread(shell.here, "collect", str(token_id))).out
    async with sitting(opening(home, devnet.url)) as desk:
        await desk.ask(CollectFees((v4_position(token_id),)))
        told = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
    assert told.view is not None
    assert told.view.approval is not None
    page = list(page_text(told.view.approval))

    first, *rest = printed.splitlines()
    assert first == page[0]
    assert first.partition(" · costs $")[2].count(", at most $") == 1
    below = page.index("")
    receipt = page[below : next(i for i, line in enumerate(page) if line.startswith("recipient"))]
    assert rest[: len(receipt)] == receipt
