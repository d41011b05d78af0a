"""The typed word at a real terminal: pasted, dressed up, too early, too late, by two at once."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.chain.moves import Moves
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.terminal import Terminal

QUESTION = "Type apply"


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with Moves(node_rpc.http(), devnet.url, network_named("devnet")).undone():
        yield Desk(devnet, CommandLine(tmp_path / "home"), capsys)


@pytest.fixture
def approval(desk: Desk) -> dict[str, Any]:
    return desk.approved("collect", str(desk.token_id("transferred in")))


def _applying(desk: Desk, approval: dict[str, Any]) -> Terminal:
    environment = {**os.environ, "ZUNO_HOME": str(desk.command.home)}
    return Terminal.run(["apply", approval["planId"], *desk.flags], environment)


def _asked(desk: Desk, approval: dict[str, Any]) -> Terminal:
    """A terminal on which the question stands."""
    terminal = _applying(desk, approval)
    terminal.wait_for(QUESTION)
    return terminal


@pytest.mark.parametrize(
    "typed", ["\x1b[200~apply\x1b[201~", "аpply"], ids=["bracketed paste", "a Cyrillic letter"]
)
def test_only_the_word_itself_signs(desk: Desk, approval: dict[str, Any], typed: str) -> None:
    before = desk.nonce()
    terminal = _asked(desk, approval)
    terminal.type(typed)
    code, out, shown = terminal.end()

    assert (code, out) == (REFUSED, "")
    assert "That was not the word" in shown
    assert "Nothing was sent" in shown
    assert desk.nonce() == before


def test_a_word_typed_before_the_question_is_not_an_answer(
    desk: Desk, approval: dict[str, Any]
) -> None:
    before = desk.nonce()
    terminal = _applying(desk, approval)
    terminal.type("apply")
    code, out, shown = terminal.end()

    assert (code, out) == (REFUSED, "")
    assert "typed before the question was asked" in shown
    assert desk.nonce() == before


def test_gas_dearer_than_what_it_is_for_wants_a_word_of_its_own(desk: Desk) -> None:
    before = desk.nonce()
    desk.ask("anvil_setNextBlockBaseFeePerGas", hex(45 * 10**9))
    desk.ask("evm_mine")
    approval = desk.approved("collect", str(desk.token_id("transferred in")))
    for typed, code, nonce in (("apply", REFUSED, before), ("apply-anyway", 0, before + 1)):
        terminal = _applying(desk, approval)
        terminal.wait_for("Type apply-anyway")
        terminal.type(typed)
        ended, _, shown = terminal.end()
        assert (ended, desk.nonce()) == (code, nonce), shown


def test_what_happens_while_the_question_stands_is_looked_at_after_it(
    desk: Desk, approval: dict[str, Any]
) -> None:
    before = desk.nonce()
    terminal = _asked(desk, approval)
    desk.ask("evm_mine", hex(approval["expiresAt"]))
    terminal.type("apply")
    code, out, shown = terminal.end()

    assert (code, out) == (REFUSED, "")
    assert "ended 0 s ago: it lasts ten minutes" in " ".join(shown.split())
    assert desk.nonce() == before


def test_what_is_written_into_the_journal_while_the_question_stands_is_not_signed(
    desk: Desk, approval: dict[str, Any]
) -> None:
    before = desk.nonce()
    terminal = _asked(desk, approval)
    with sqlite3.connect(desk.command.home / "outbox.db") as journal:
        (text,) = journal.execute("SELECT unsigned FROM outbox_steps").fetchone()
        dearer = json.dumps({**json.loads(text), "maxFeePerGas": str(10**12)})
        journal.execute("UPDATE outbox_steps SET unsigned = ?", (dearer,))
    journal.close()
    terminal.type("apply")
    code, out, shown = terminal.end()

    assert (code, out) == (REFUSED, "")
    assert "collect the fees of #26, is not what was shown. It was not signed." in shown
    assert desk.nonce() == before


def test_of_two_who_answer_at_once_one_signs(desk: Desk, approval: dict[str, Any]) -> None:
    before = desk.nonce()
    terminals = [_asked(desk, approval), _asked(desk, approval)]
    for terminal in terminals:
        terminal.type("apply")
    ends = [terminal.end() for terminal in terminals]

    assert sorted(code for code, _, _ in ends) == [0, REFUSED]
    (shown,) = [shown for code, _, shown in ends if code == REFUSED]
    assert any(
        words in shown
        for words in (
            "Another zuno is applying a plan right now",
            "This approval was used already",
            "nonce of the wallet",
        )
    ), shown
    assert desk.nonce() == before + 1


def test_what_waits_is_not_sped_up_after_it_was_changed_and_may_be_cancelled(
    desk: Desk, approval: dict[str, Any]
) -> None:
    before = desk.nonce()
    confirmed = (approval["planId"], "--confirm", approval["hash"], *desk.flags)
    try:
        desk.killed_while_waiting(approval, at="collect")
        with sqlite3.connect(desk.command.home / "outbox.db") as journal:
            (text,) = journal.execute("SELECT unsigned FROM outbox_steps").fetchone()
            changed = json.dumps({**json.loads(text), "value": str(10**18)})
            journal.execute("UPDATE outbox_steps SET unsigned = ?", (changed,))
        journal.close()
        faster = desk.command("outbox", "speed-up", *confirmed)
        cancelled = desk.command("outbox", "cancel", *confirmed)
    finally:
        desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")

    assert faster.code == REFUSED
    assert "is not what was approved" in faster.words
    assert cancelled.code == 0, cancelled.words
    assert desk.nonce() == before + 1
