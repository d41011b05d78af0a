"""A look at the outbox sends nothing: after a restart, after a kill, by command and by desk."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from chain.execution.outbox.outbox import Outbox
from tests import node_rpc
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.gate.desk import REFUSED, Desk, confirmed
from tests.zuno_tui.gate.interrupted_plans import (
    Restartable,
    position_of,
    send_foreign,
    sent_so_far,
)
from tests.zuno_tui.terminal import Terminal
from zuno_tui.desk.events import ConfirmationAsked, ConfirmationEnded, OutboxReady, Said
from zuno_tui.intents.intents import OpenOutbox as AskedOutbox
from zuno_tui.intents.intents import Show
from zuno_tui.present.views import ApprovalView, DispatchView


@pytest.fixture(scope="module")
def chain() -> Iterator[Restartable]:
    with ExitStack() as stack:
        yield Restartable(stack)


@pytest.fixture
def desk(chain: Restartable, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    ready = chain.ready
    made = Desk(ready, CommandLine(tmp_path / "home"), capsys)
    snapshot = made.ask("evm_snapshot")
    yield made
    if chain.ready is ready:  # and not another, which has no such snapshot
        node_rpc.take_back(ready.url, snapshot)


def _re_range(desk: Desk) -> dict[str, Any]:
    plan = desk.recommended("underpaid")
    move = next(
        one
        for one in plan["candidates"]
        if one["judgment"]["verdict"] != "veto" and one["prepAction"] is not None
    )
    return desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))


def _findings(desk: Desk) -> dict[str, Any]:
    document: dict[str, Any] = desk.here("outbox", "--json").data
    return document


def test_after_a_restart_no_look_replays_a_plan(chain: Restartable, desk: Desk) -> None:
    """Six steps included, the chain started anew, one other transaction: two looks and a desk."""
    desk.ask("evm_mine")
    approval = _re_range(desk)
    unused = desk.approved("collect", str(desk.token_id("transferred in")))
    applied = desk.apply(*confirmed(approval))
    token_id = desk.token_id("underpaid")
    gone = position_of(desk, token_id)
    chain.restart()
    send_foreign(desk)
    sent = sent_so_far(desk)

    first, second = _findings(desk), _findings(desk)
    rows = asyncio.run(_rows_at_the_desk(desk))
    resumed = desk.here("outbox", "resume", *confirmed(approval))
    old = desk.here("apply", *confirmed(unused))

    assert applied.code == 0, applied.words
    assert len(approval["transactions"]) == 6
    assert gone == (None, 0)
    assert sent_so_far(desk) == sent
    owner, liquidity = position_of(desk, token_id)
    assert owner == desk.devnet.wallet
    assert liquidity > 0
    for told in (first, second):
        finding = next(one for one in told["findings"] if one["planId"] == approval["planId"])
        assert finding["situation"] == "over"
        [position] = finding["where"]["positions"]
        assert position == {
            "tokenId": str(token_id),
            "owner": owner,
            "liquidity": str(liquidity),
        }
        assert {one["ended"] for one in told["dispatches"]} == {"chain restarted"}
    assert {one.state for one in rows} == {"over: chain restarted"}
    assert (resumed.code, old.code) == (REFUSED, REFUSED)


async def _rows_at_the_desk(desk: Desk) -> tuple[DispatchView, ...]:
    async with sitting(opening(desk.command.home, desk.devnet.url)) as sat:
        while True:
            # While the desk looks by itself at its opening, it does not begin to look again.
            await sat.ask(Show("outbox"))
            with suppress(TimeoutError):
                return (await asyncio.wait_for(sat.until(OutboxReady), 60)).rows


@pytest.fixture(scope="module")
def left(chain: Restartable, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Signed and in no pool: killed while it waits, and the pool has lost it."""
    home = tmp_path_factory.mktemp("left") / "home"
    desk = Desk(chain.ready, CommandLine(home), cast("pytest.CaptureFixture[str]", None))
    asked = ("collect", str(desk.token_id("transferred in")), *desk.flags, "--json")
    approval: dict[str, Any] = desk.command(*asked).data
    assert desk.killed_while_waiting(approval, at="collect") == -9
    desk.ask("anvil_dropAllTransactions")
    desk.ask("evm_setAutomine", True)
    return Left(home, approval)


class Left(NamedTuple):
    home: Path
    approval: dict[str, Any]

    def at(self, desk: Desk) -> dict[str, Any]:
        shutil.copytree(self.home, desk.command.home)
        return self.approval


def test_resume_shows_what_it_sends_and_asks_for_the_word(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    before = sent_so_far(desk)
    environment = {**os.environ, "ZUNO_HOME": str(desk.command.home)}

    looked = _findings(desk)
    nobody = desk.here("outbox", "resume", approval["planId"])
    wrong = desk.here("outbox", "resume", approval["planId"], "--confirm", "0" * 64)
    other = desk.here("outbox", "resume", "plan_" + "0" * 16, "--confirm", approval["hash"])
    unsent = sent_so_far(desk)
    terminal = Terminal.run(["outbox", "resume", *desk.flags, "--json"], environment)
    terminal.answer("Type resume", "resume")
    code, out, shown = terminal.end()
    again = desk.here("outbox", "resume", *confirmed(approval))

    assert [one["situation"] for one in looked["findings"]] == ["not sent"]
    assert [one.code for one in (nobody, wrong, other)] == [REFUSED] * 3
    assert unsent == before
    assert code == 0, shown
    assert '"state": "included"' in out
    assert approval["hash"] in shown
    assert looked["dispatches"][0]["steps"][0]["hash"] in shown
    assert f"#{desk.token_id('transferred in')}" in shown
    assert sent_so_far(desk) == before + 1
    assert again.code == REFUSED


def test_resume_by_its_hash_needs_no_terminal(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    before = sent_so_far(desk)

    resumed = desk.here("outbox", "resume", *confirmed(approval))

    assert resumed.code == 0, resumed.words
    assert sent_so_far(desk) == before + 1


def test_bytes_that_were_changed_on_disk_are_not_sent_again(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    before = sent_so_far(desk)
    with sqlite3.connect(desk.command.home / "outbox.db") as journal:
        (raw,) = journal.execute("SELECT raw FROM outbox_versions").fetchone()
        journal.execute("UPDATE outbox_versions SET raw = ?", (raw[:-1] + b"\x01",))

    resumed = desk.here("outbox", "resume", *confirmed(approval))

    assert resumed.code == REFUSED, resumed
    assert sent_so_far(desk) == before


def test_the_policy_is_asked_again_before_bytes_are_sent_again(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    before = sent_so_far(desk)
    settings = desk.command.home / "settings.toml"
    settings.write_text("[limits]\nmax_fee_gwei = 0.000001\n")
    refused = desk.here("outbox", "resume", *confirmed(approval))
    unsent = sent_so_far(desk)
    settings.unlink()
    resumed = desk.here("outbox", "resume", *confirmed(approval))

    assert refused.code == REFUSED, refused
    assert unsent == before
    assert resumed.code == 0, resumed.words
    assert sent_so_far(desk) == before + 1


def test_at_the_desk_sending_again_takes_the_word(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    before = sent_so_far(desk)

    async def sit() -> tuple[DispatchView, ApprovalView, int, int]:
        async with sitting(opening(desk.command.home, desk.devnet.url)) as sat:
            await sat.until(Said, lambda said: "See: outbox" in said.words)
            await sat.ask(Show("outbox"))
            row = (await sat.until(OutboxReady)).rows[0]
            opened = sent_so_far(desk)
            await sat.ask(AskedOutbox("resume", row.plan_id))
            asked = (await sat.until(ConfirmationAsked)).approval
            await sat.desk.confirm(asked.hash, "apply", None)
            await sat.until(ConfirmationEnded)
            refused = sent_so_far(desk)
            await sat.desk.confirm(asked.hash, "resume", None)
            await sat.until(ConfirmationEnded, lambda told: "included" in told.words)
        return row, asked, opened, refused

    row, asked, opened, refused = asyncio.run(sit())

    assert "resume" in row.actions
    assert asked.word == "resume"
    assert asked.hash == approval["hash"]
    assert (opened, refused) == (before, before)
    assert sent_so_far(desk) == before + 1


def test_what_needs_nothing_is_said_unasked_once(desk: Desk) -> None:
    plan = desk.approved("increase", str(desk.token_id("healthy")), "0.01", "WETH")
    desk.killed_while_waiting(plan, at="allow through Permit2")
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    said = []
    for _ in range(2):
        other = desk.approved("collect", str(desk.token_id("transferred in")))
        said.append(desk.here("apply", other["planId"], "--confirm", "0" * 64).words)
    asked = [desk.here("outbox").out for _ in range(2)]

    assert [plan["planId"] in words for words in said] == [True, False]
    assert "The wallet holds" in said[0]
    assert [plan["planId"] in words for words in asked] == [True, True]


def test_cancel_and_speed_up_without_a_plan_take_the_one_that_waits(desk: Desk, left: Left) -> None:
    approval = left.at(desk)
    faster = desk.command("outbox", "speed-up", "--confirm", approval["hash"], *desk.flags)

    assert faster.code == 0, faster.words
    with Outbox.open(desk.command.home / "outbox.db") as outbox:
        [step] = outbox.dispatch(approval["hash"]).steps
    assert len(step.versions) == 2


def test_nothing_that_waits_is_nothing_to_cancel_or_send_again(desk: Desk) -> None:
    for action in ("cancel", "speed-up", "resume"):
        assert desk.here("outbox", action, "--confirm", "0" * 64).code == REFUSED


def test_of_several_that_wait_one_must_be_named(desk: Desk, left: Left) -> None:
    first = left.at(desk)
    with sqlite3.connect(desk.command.home / "outbox.db") as journal:
        # As after a reorg: what is dropped no longer keeps its nonce from another plan.
        journal.execute("UPDATE outbox_steps SET state = 'dropped'")
    second = desk.approved("collect", str(desk.token_id("healthy")))
    assert desk.killed_while_waiting(second, at="collect") == -9
    desk.ask("anvil_dropAllTransactions")
    desk.ask("evm_setAutomine", True)
    before = sent_so_far(desk)

    for action in ("cancel", "speed-up"):
        unnamed = desk.here("outbox", action, "--confirm", second["hash"])
        mixed = desk.here("outbox", action, first["planId"], "--confirm", second["hash"])
        assert (unnamed.code, mixed.code) == (REFUSED, REFUSED), (unnamed, mixed)
        assert first["planId"] in unnamed.words
        assert second["planId"] in unnamed.words
    assert sent_so_far(desk) == before
    named = desk.command("outbox", "cancel", *confirmed(second), *desk.flags)
    assert named.code == 0, named.words
    assert sent_so_far(desk) == before + 1
