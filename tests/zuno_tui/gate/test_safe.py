"""A Safe as the wallet: watched, signed for by enough owners, executed by anybody."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.world.deployment import USDC, WETH
from chain.protocols.reference import v4_position
from tests.fakes.ledger import LedgerDouble
from tests.fork_server import fork_server
from tests.samples import some_of
from tests.waiting import HUNG_SECONDS, wait_until
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.safes import OWNERS, SafeDesk
from tests.zuno_tui.gate.test_keys_elsewhere import OWN, PATH
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import ConfirmationAsked, ConfirmationEnded, PlanChanged
from zuno_tui.intents.intents import Apply
from zuno_tui.present.receipt_lines import receipt_document
from zuno_tui.screen.panes.authority import can_confirm


@pytest.fixture
def alone(desk: Desk) -> SafeDesk:
    """The demo wallet is its only owner."""
    return SafeDesk.made(desk, [desk.devnet.wallet], 1)


def test_a_safe_is_watched_and_its_positions_are_read(alone: SafeDesk) -> None:
    listed = alone.desk.here("wallet", "list", "--json").data
    assert [wallet["store"] for wallet in listed["wallets"]] == ["Safe"]
    assert len(alone.desk.here("positions", "--json").data["positions"]) == 4


def test_one_owner_collects(alone: SafeDesk) -> None:
    desk = alone.desk
    plan = alone.plan("collect", str(desk.token_id("healthy")))
    made = alone.document(1)["transaction"]
    asked = [
        *(made["to"], int(made["value"]), bytes.fromhex(made["data"][2:]), int(made["operation"])),
        *(0, 0, 0, "0x" + "00" * 20, "0x" + "00" * 20, int(made["nonce"])),
    ]
    told = alone.read(
        "getTransactionHash(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,"
        "uint256)",
        *asked,
    )
    assert plan["safeTxHash"] == "0x" + told.hex()
    assert plan["domainHash"] == "0x" + alone.read("domainSeparator()").hex()

    signed = alone.signed(plan)
    assert signed.code == 0, signed.words
    assert (signed.data["missing"], alone.nonce) == (0, 0)
    done = alone.executed(plan)
    assert done.code == 0, done.words
    assert alone.nonce == 1
    assert done.data["realised"] == plan["changes"]
    again = alone.executed(plan)
    assert (again.code, alone.nonce) == (REFUSED, 1), again.words


def _moved(safe: SafeDesk) -> dict[str, Any]:
    """A range of one's own is a plan first, as a recommended one is."""
    argued = safe.plan("move", str(safe.desk.token_id("below its range")), "2800", "3300")
    return safe.plan("approve", argued["planId"], "--candidate", "A")


def _created(safe: SafeDesk) -> dict[str, Any]:
    argued = safe.plan("create", "0.5 WETH and 1300 USDC, 0.05%", "--deterministic")
    move = next(each for each in argued["candidates"] if each["judgment"]["verdict"] != "veto")
    return safe.plan("approve", argued["planId"], "--candidate", str(move["index"]))


@pytest.mark.parametrize("version", some_of([("1.3.0",), ("1.5.0",)], 1, seed=51))
def test_every_version_closes_and_moves_with_a_swap(desk: Desk, version: str) -> None:
    safe = SafeDesk.made(desk, [desk.devnet.wallet], 1, version=version)
    closed = safe.plan("close", str(desk.token_id("native")))
    assert safe.signed(closed).code == 0
    done = safe.executed(closed)
    assert done.code == 0, done.words
    assert done.data["realised"] == closed["changes"]

    moved = _moved(safe)
    assert moved["operation"] == 1
    assert safe.signed(moved).code == 0
    done = safe.executed(moved)
    assert done.code == 0, done.words
    assert done.data["realised"] == moved["changes"]
    minted = str(done.data["newTokenId"])
    assert desk.positions()[minted]["owner"] == safe.address
    for token in (WETH.address, USDC.address):
        allowed = desk.read(
            token, "allowance(address,address)", safe.address, desk.devnet.contracts.permit2
        )
        assert not any(allowed), "a permission outlived the batch"
    assert safe.nonce == 2


def test_two_of_three_sign_with_a_key_and_a_ledger(desk: Desk, tmp_path: Path) -> None:
    with LedgerDouble() as double:
        (desk.command.home / "settings.toml").write_text(
            f'[wallet]\nledger = "{double.place}"\n', "utf-8"
        )
        (desk.command.home / "settings.toml").chmod(0o600)
        assert desk.here("wallet", "ledger", PATH, "--name", "stick").code == 0
        owners = [desk.devnet.wallet, OWN, OWNERS[0].address]
        safe = SafeDesk.made(desk, owners, 2)
        plan = _created(safe)
        by_ledger = safe.signed(plan, "--owner", "stick")
        assert by_ledger.code == 0, by_ledger.words
        shown = " ".join(double.shown)
        used = safe.signed(plan)
        too_few = safe.executed(plan)
        again = safe.plan("approve", plan["planId"])
        by_key = safe.signed(again)

    assert plan["domainHash"] in shown
    assert plan["messageHash"] in shown
    assert plan["domainHash"] in by_ledger.words
    assert (used.code, "one owner's signature" in used.words) == (REFUSED, True)
    assert (too_few.code, "1 of 2 needed owners" in too_few.words) == (REFUSED, True)
    assert again["safeTxHash"] == plan["safeTxHash"], "the next owner signs the same bytes"
    assert by_key.code == 0, by_key.words
    done = safe.executed(plan)
    assert done.code == 0, done.words
    assert desk.positions()[str(done.data["newTokenId"])]["owner"] == safe.address


@pytest.mark.usefixtures("lightly_encrypted")
def test_three_of_five_sign_in_homes_of_their_own(desk: Desk, tmp_path: Path) -> None:
    safe = SafeDesk.made(desk, [owner.address for owner in OWNERS], 3)
    plan = safe.plan("close", str(desk.token_id("healthy")), str(desk.token_id("native")))
    file = tmp_path / "proposed.json"
    nobody = safe.signed(plan)
    assert (nobody.code, "No owner's key is here" in nobody.words) == (REFUSED, True)
    assert safe.desk.here("safe", "export", "1", str(file)).code == 0
    for place, owner in enumerate(OWNERS[2:]):
        theirs = safe.at(tmp_path / owner.name.replace(" ", "-"))
        theirs.with_key(owner, tmp_path)
        taken = theirs.desk.here("safe", "import", str(file), "--json")
        assert taken.code == 0, taken.words
        approved = theirs.plan("approve", taken.data["planId"])
        signed = theirs.signed(approved, "--passphrase-file", str(theirs.passphrase))
        assert signed.code == 0, signed.words
        assert signed.data["missing"] == 2 - place
        file = tmp_path / f"signed-{place}.json"
        assert theirs.desk.here("safe", "export", "1", str(file)).code == 0

    back = desk.here("safe", "import", str(file), "--json").data
    assert (back["number"], back["missing"]) == (1, 0)
    done = safe.executed(plan)  # the demo wallet pays the gas, and is no owner
    assert done.code == 0, done.words
    assert done.data["realised"] == plan["changes"]
    assert safe.nonce == 1


def test_a_rejection_uses_the_nonce_up_and_the_list_tells_of_both(alone: SafeDesk) -> None:
    desk = alone.desk
    plan = alone.plan("collect", str(desk.token_id("healthy")))
    assert alone.signed(plan).code == 0
    rejection = alone.plan("safe", "reject", "1")
    assert (rejection["nonce"], rejection["number"]) == (plan["nonce"], 2)
    first, second = desk.here("safe", "--json").data["transactions"]
    assert "only one of it and 2" in first["stands"]
    assert "only one of it and 1" in second["stands"]
    assert alone.signed(rejection).code == 0
    done = alone.executed(rejection)
    assert (done.code, alone.nonce) == (0, 1), done.words

    over = alone.executed(plan)
    assert (over.code, alone.nonce) == (REFUSED, 1)
    assert "Nonce 0 of the Safe is used" in over.words
    assert "over" in desk.here("safe", "--json").data["transactions"][0]["stands"]


async def test_at_the_desk_the_word_gives_one_signature(alone: SafeDesk) -> None:
    home, ref = alone.desk.command.home, alone.desk.token_id("healthy")
    async with sitting(opening(home, alone.desk.devnet.url)) as desk:
        await desk.ask(CollectFees((v4_position(ref),)))
        card = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        await desk.ask(Apply())
        page = (await desk.until(ConfirmationAsked)).approval
        assert can_confirm(page)
        await desk.desk.confirm(page.hash, "apply", None)
        assert (await desk.until(ConfirmationEnded)).approval_hash == page.hash
        since = len(desk.heard)
        await desk.ask(Apply())
        again = (await desk.until(ConfirmationAsked, since=since)).approval
        await desk.desk.confirm(again.hash, again.word, None)
        ended = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.result))

    assert card.view is not None
    assert card.view.approval is not None
    assert receipt_document(card.view.approval) == receipt_document(page)
    assert {"domainHash", "messageHash", "safeTxHash"} <= {label for label, _ in page.terms}
    assert ended.view is not None
    assert ended.view.result is not None
    assert "1 of 1 owners have signed" in ended.view.result.lines[0]
    assert len(alone.document(1)["signatures"]) == 1
    assert alone.nonce == 0, "nothing was sent"


def test_what_somebody_else_executed_meanwhile_is_noticed(alone: SafeDesk, tmp_path: Path) -> None:
    plan = alone.plan("collect", str(alone.desk.token_id("healthy")))
    assert alone.signed(plan).code == 0
    elsewhere = alone.at(tmp_path / "elsewhere")
    assert elsewhere.desk.here("safe", "import", str(alone.file(1))).code == 0
    assert elsewhere.executed(plan).code == 0

    here = alone.executed(plan)
    assert (here.code, "Nonce 0 of the Safe is used" in here.words) == (REFUSED, True)
    [stands] = alone.desk.here("safe", "--json").data["transactions"]
    assert stands["stands"].startswith("over")
    assert alone.nonce == 1


def test_killed_once_it_is_sent_it_goes_out_once(alone: SafeDesk) -> None:
    desk = alone.desk
    plan = alone.plan("collect", str(desk.token_id("healthy")))
    assert alone.signed(plan).code == 0
    desk.ask("evm_setAutomine", False)
    told = desk.command.home / "told"
    confirmed = ("--confirm", plan["safeTxHash"], *desk.flags, "--home", str(desk.command.home))
    with told.open("w") as words, Path(os.devnull).open() as nothing:
        child = fork_server().start(
            *("zuno_tui", "safe", "execute", "1", *confirmed),
            environment=os.environ,
            files=[each.fileno() for each in (nothing, words, words)],
        )
    wait_until(lambda: ": sent" in told.read_text("utf-8"), lambda: told.read_text("utf-8"))
    child.kill()
    child.ended(HUNG_SECONDS)
    desk.ask("anvil_dropAllTransactions")
    desk.ask("evm_setAutomine", True)

    looked = desk.here("outbox", "--json").data
    [sealed] = [each["hash"] for each in looked["dispatches"] if each["planId"] == plan["planId"]]
    assert alone.nonce == 0, "a look sends nothing"
    resumed = desk.command(
        *("outbox", "resume", plan["planId"], "--confirm", sealed, "--json", *desk.flags)
    )
    assert (resumed.code, alone.nonce) == (0, 1), resumed.words
    again = alone.executed(plan)
    assert (again.code, alone.nonce) == (REFUSED, 1), again.words


SIGNING, EXECUTING = 29, 53
"""One more than each makes changes of what is on disk: the last ends in peace."""


@pytest.mark.parametrize("moment", some_of(zip(range(1, SIGNING + 1), strict=True), 1, seed=49))
def test_killed_at_any_change_the_signature_is_given_once(alone: SafeDesk, moment: int) -> None:
    plan = alone.plan("collect", str(alone.desk.token_id("healthy")))
    code = alone.cut_off(moment, "apply", plan["planId"], "--confirm", plan["hash"])

    listed = alone.desk.here("safe", "--json")
    assert (code, listed.code) == (0 if moment == SIGNING else -signal.SIGKILL, 0)
    assert len(alone.document(1)["signatures"]) <= 1
    if not alone.document(1)["signatures"]:
        again = alone.plan("approve", plan["planId"])
        assert alone.signed(again).code == 0
    assert alone.nonce == 0
    done = alone.executed(plan)
    assert (done.code, alone.nonce) == (0, 1), done.words
    assert done.data["realised"] == plan["changes"]


@pytest.mark.parametrize("moment", some_of(zip(range(1, EXECUTING + 1), strict=True), 1, seed=50))
def test_killed_at_any_change_what_enough_signed_is_executed_once(
    alone: SafeDesk, moment: int
) -> None:
    desk = alone.desk
    plan = alone.plan("collect", str(desk.token_id("healthy")))
    assert alone.signed(plan).code == 0
    paid = desk.nonce()
    code = alone.cut_off(moment, "safe", "execute", "1", "--confirm", plan["safeTxHash"])

    looked = desk.here("outbox", "--json")
    assert (code, looked.code) == (0 if moment == EXECUTING else -signal.SIGKILL, 0)
    for each in looked.data["dispatches"]:
        confirmed = ("--confirm", each["hash"], *desk.flags)
        assert desk.command("outbox", "resume", plan["planId"], *confirmed).code in (0, REFUSED)
    again = alone.executed(plan)
    if "cut off before it was signed" in again.words:
        desk.ask("evm_mine")
        again = alone.executed(plan)
    assert again.code in (0, REFUSED), again.words
    assert (alone.nonce, desk.nonce()) == (1, paid + 1)
