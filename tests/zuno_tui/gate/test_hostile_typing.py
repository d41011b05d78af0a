"""The typed word at a real terminal: pasted, dressed up, too early, too late, by two at once."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.devnet.world.accounts import WIDE_PROVIDER
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.forged_journal import read_draft, write_forged
from tests.zuno_tui.terminal import Terminal

QUESTION = "Type apply"


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


Document = dict[str, Any]

FAILED = 1
CHANGED = "is not what was approved"


def _collecting(desk: Desk) -> Document:
    return desk.approved("collect", str(desk.token_id("transferred in")))


def _edit_kept(desk: Desk, edit: Callable[[Any], Any]) -> None:
    """Change what is kept beside the journal."""
    with sqlite3.connect(desk.command.home / "outbox.db") as kept:
        for key, text in kept.execute("SELECT hash, terms FROM approvals").fetchall():
            terms = json.dumps(edit(json.loads(text)))
            kept.execute("UPDATE approvals SET terms = ? WHERE hash = ?", (terms, key))
    kept.close()


@contextmanager
def _put_back(desk: Desk) -> Iterator[None]:
    """The journal as it was, whatever was done to it."""
    journal = desk.command.home / "outbox.db"
    whole = journal.read_bytes()
    assert not journal.with_name("outbox.db-wal").exists(), "nobody holds it open"
    yield
    journal.write_bytes(whole)


def test_an_approval_that_cannot_be_read_or_is_another_plans_is_no_approval(desk: Desk) -> None:
    first = _collecting(desk)
    other = desk.approved("close", str(desk.token_id("underpaid")))
    with _put_back(desk):
        with closing(sqlite3.connect(desk.command.home / "outbox.db")) as kept, kept:
            kept.execute("UPDATE approvals SET plan_id = ?", (first["planId"],))
        swapped = desk.refused(first["planId"])
    _edit_kept(desk, lambda document: {**document, "bounds": []})
    broken = desk.refused(other["planId"], "--confirm", other["hash"])

    assert CHANGED in swapped.words
    assert "no longer known" in broken.words


def test_a_plan_changed_by_hand_is_not_approved(desk: Desk) -> None:
    plan = desk.recommended("healthy")
    path = desk.command.home / "plans" / f"{plan['planId']}.json"
    written = json.loads(path.read_text())

    def approved_with(changed: Document) -> str:
        path.write_text(json.dumps(changed))
        spoken = desk.here("approve", plan["planId"], "--candidate", "0")
        assert spoken.code == REFUSED
        return spoken.words

    first, *others = written["candidates"]
    moved = {**first, "tickLower": first["tickLower"] - 600}
    words = approved_with({**written, "candidates": [moved, *others]})
    accepted = {**first, "judgment": {**first["judgment"], "verdict": "accept", "reason": "."}}
    assert accepted != first
    pardoned = approved_with({**written, "candidates": [accepted, *others]})

    assert "was changed since it was made" in words
    assert "was changed since it was made" in pardoned


def test_of_two_homes_the_second_finds_the_first_one_gone_by(desk: Desk, tmp_path: Path) -> None:
    elsewhere = Desk(desk.devnet, CommandLine(tmp_path / "elsewhere"), desk.capture)
    mine, theirs = _collecting(desk), _collecting(elsewhere)
    before = desk.nonce()

    applied = desk.apply_here(mine["planId"], "--confirm", mine["hash"])
    late = elsewhere.refused(theirs["planId"], "--confirm", theirs["hash"])

    assert mine["hash"] == theirs["hash"], "the same bytes at the same block"
    assert applied.code == 0, applied.words
    assert "nonce of the wallet" in late.words
    assert desk.nonce() == before + 1


def test_an_address_without_a_key_may_build_and_may_not_sign(desk: Desk) -> None:
    watched = checksum(WIDE_PROVIDER.address)
    held = desk.here("positions", "--address", watched, "--json").data["positions"]
    token_id = held[0]["tokenId"]
    before = desk.ask("eth_getTransactionCount", WIDE_PROVIDER.address, "latest")

    approval = desk.approved("close", token_id, "--address", watched)
    confirmed = (approval["planId"], "--confirm", approval["hash"])
    unknown = desk.here("apply", *confirmed)
    watching = desk.here("wallet", "import", watched)
    refused = desk.refused(*confirmed)

    assert approval["words"]
    assert unknown.code == FAILED
    assert f"zuno holds no key for {watched}" in unknown.words
    assert watching.code == 0, watching.words
    assert "is watch-only: zuno holds no key for it and cannot sign" in refused.words
    assert "zuno wallet import" in refused.words
    assert desk.ask("eth_getTransactionCount", WIDE_PROVIDER.address, "latest") == before


def test_what_was_approved_under_other_rules_is_void_and_says_so(desk: Desk) -> None:
    """As another version would have left it: whole, sealed and tagged, under its own rules."""
    approval, nonce = desk.approved("wrap", "0.04"), desk.nonce()
    journal = Home.locate(os.environ, desk.command.home).outbox
    draft = read_draft(journal, approval["hash"])
    draft.terms["policy"] += 1
    other = write_forged(journal, draft)

    refused = desk.refused(approval["planId"], "--confirm", other)
    again = desk.approved("wrap", "0.04")
    applied = desk.apply_here(again["planId"], "--confirm", again["hash"])

    assert other != approval["hash"]
    assert "approved under the rules of another version" in refused.words
    assert (applied.code, desk.nonce()) == (0, nonce + 1), applied.words
