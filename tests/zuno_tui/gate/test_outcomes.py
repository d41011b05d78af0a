"""What happened, told by endpoints that lie or by what failed unforeseen: never called nothing."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.addresses import keccak
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy
from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.gate.desk import Desk, confirmed

FAILED = 1


def _receipts(desk: Desk, change: dict[str, Any]) -> Callable[[Call], Answer | None]:
    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_getTransactionReceipt":
            return None
        true = desk.ask(call["method"], *call["params"])
        return {"result": None if true is None else {**true, **change}}

    return answer


def _wrapped(desk: Desk) -> dict[str, Any]:
    return desk.approved("wrap", "0.04")


@pytest.mark.parametrize("lie", [{"status": "0x0"}, {"status": "0x0", "logs": []}])
def test_a_lone_endpoint_whose_status_and_balances_differ_is_unclear(
    desk: Desk, lie: dict[str, Any]
) -> None:
    approval = _wrapped(desk)
    with Proxy(desk.devnet.url, _receipts(desk, lie)) as liar:
        applied = replace(desk, rpc=liar.url).apply_here(*confirmed(approval), "--json")
    told = desk.here("outbox", "--json").data["dispatches"][-1]

    assert (applied.code, applied.data["state"]) == (FAILED, "unclear"), applied.words
    assert applied.data["safeState"] is None
    assert applied.data["where"]["holdings"]
    # Asked of an honest endpoint later, it is what it was.
    assert told["state"] == "included"


def test_a_made_up_receipt_of_what_was_never_sent_is_unclear(desk: Desk) -> None:
    """The bytes are swallowed, and the receipt of a stranger's transaction is told instead."""
    approval = _wrapped(desk)
    block = desk.ask("eth_getBlockByNumber", "latest", False)
    sent: list[str] = []

    def answer(call: Call) -> Answer | None:
        match call["method"]:
            case "eth_sendRawTransaction":
                sent.append("0x" + keccak(bytes.fromhex(call["params"][0][2:])).hex())
                return {"result": sent[-1]}
            case "eth_getTransactionReceipt" if sent:
                return {
                    "result": {
                        "transactionHash": sent[-1],
                        "transactionIndex": "0x0",
                        "blockNumber": block["number"],
                        "blockHash": block["hash"],
                        "from": desk.devnet.wallet,
                        "to": approval["transactions"][0]["to"],
                        "contractAddress": None,
                        "status": "0x1",
                        "gasUsed": "0x7530",
                        "cumulativeGasUsed": "0x7530",
                        "effectiveGasPrice": "0x1",
                        "logs": [],
                    }
                }
        return None

    with Proxy(desk.devnet.url, answer) as liar:
        applied = replace(desk, rpc=liar.url).apply_here(*confirmed(approval), "--json")

    assert sent
    assert (applied.code, applied.data["state"]) == (FAILED, "unclear"), applied.words


def test_success_by_which_nothing_came_or_left_is_unclear(desk: Desk) -> None:
    """The receipt says success and moves nothing, and balances are told as they were before."""
    approval = desk.approved("collect", str(desk.token_id("transferred in")))
    before = desk.ask("eth_blockNumber")

    def answer(call: Call) -> Answer | None:
        match call["method"], call.get("params"):
            case "eth_getTransactionReceipt", _:
                return _receipts(desk, {"logs": []})(call)
            case "eth_call", [{"data": data} as asked, _] if _BALANCE in data:
                return {"result": desk.ask("eth_call", asked, before)}
        return None

    with Proxy(desk.devnet.url, answer) as liar:
        applied = replace(desk, rpc=liar.url).apply_here(*confirmed(approval), "--json")

    assert applied.code == FAILED, applied.words
    assert applied.data["state"] == "unclear"
    assert set(applied.data["realised"].values()) == {None}


_BALANCE = keccak(b"balanceOf(address)")[:4].hex()


def test_a_receipt_that_changes_its_mind_is_unclear(desk: Desk) -> None:
    """First a success, by which the step is called included; from then on a failure."""
    approval = _wrapped(desk)
    told: list[str] = []

    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_getTransactionReceipt":
            return None
        told.append(call["method"])
        return _receipts(desk, {} if len(told) < 3 else {"status": "0x0", "logs": []})(call)

    with Proxy(desk.devnet.url, answer) as liar:
        applied = replace(desk, rpc=liar.url).apply_here(*confirmed(approval), "--json")

    assert "wrap: included" in applied.words
    assert (applied.code, applied.data["state"]) == (FAILED, "unclear"), applied.words


def test_of_three_one_that_lies_about_the_outcome_is_not_believed(desk: Desk) -> None:
    approval = _wrapped(desk)
    with (
        Proxy(desk.devnet.url, _receipts(desk, {"status": "0x0"})) as liar,
        Proxy(desk.devnet.url) as second,
    ):
        three = replace(desk, rpc=f"{liar.url},{desk.devnet.url},{second.url}")
        applied = three.apply_here(*confirmed(approval), "--json")

    assert applied.code == 0, applied.words
    assert applied.data["state"] == "included"


def test_a_step_that_really_reverts_is_said_to(desk: Desk) -> None:
    """Nothing moved, and the receipt says so: that is clear."""
    approval = _wrapped(desk)
    weth = approval["tokens"][-1]
    wrapped = next(one for one in approval["transactions"])
    with Proxy(desk.devnet.url, _breaks(desk, wrapped["to"])) as broken:
        applied = replace(desk, rpc=broken.url).apply_here(*confirmed(approval), "--json")

    assert applied.code == FAILED, applied.words
    assert applied.data["state"] == "reverted"
    assert applied.data["safeState"] == "nothing happened"
    now = {held["token"]: int(held["now"]) for held in applied.data["where"]["holdings"]}
    assert now[weth] == desk.held(desk.devnet.wallet, weth)


def _breaks(desk: Desk, target: str) -> Callable[[Call], Answer | None]:
    """The contract breaks at the very moment the transaction comes, and is well again after."""

    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_sendRawTransaction":
            return None
        code = desk.ask("eth_getCode", target, "latest")
        desk.ask("anvil_setCode", target, "0x5f5ffd")
        sent = desk.ask(call["method"], *call["params"])
        desk.ask("evm_mine")
        node_rpc.receipt(desk.devnet.url, sent)
        desk.ask("anvil_setCode", target, code)
        return {"result": sent}

    return answer


FULL = Path("/dev/full")
"""Takes no byte: a result that is printed there fails after all else is done."""


def into_full(desk: Desk, *arguments: str) -> tuple[int | None, str]:
    """The exit code, and what was told besides."""
    with Path(os.devnull).open() as nothing, FULL.open("w") as full, tempfile.TemporaryFile() as on:
        child = fork_server().start(
            "zuno_tui",
            *arguments,
            *desk.flags,
            "--json",
            environment={**os.environ, "ZUNO_HOME": str(desk.command.home)},
            files=[nothing.fileno(), full.fileno(), on.fileno()],
        )
        code = child.ended(HUNG_SECONDS)
        on.seek(0)
        return code, on.read().decode()


def assert_not_nothing(told: tuple[int | None, str]) -> None:
    code, words = told
    assert code not in (0, None), words
    assert "Nothing was sent" not in words
    assert "othing was signed" not in words


@pytest.fixture
def waiting(desk: Desk) -> dict[str, Any]:
    """Signed and in no block, and whoever sent it was killed."""
    approval = desk.approved("wrap", "0.04")
    desk.killed_while_waiting(approval, at="wrap")
    return approval


def test_a_plan_that_was_sent(desk: Desk) -> None:
    nonce = desk.nonce()
    assert_not_nothing(into_full(desk, "apply", *confirmed(desk.approved("wrap", "0.04"))))
    assert desk.nonce() == nonce + 1


@pytest.mark.parametrize("action", ["cancel", "speed-up"])
def test_what_waits_in_the_outbox_and_is_replaced(
    desk: Desk, waiting: dict[str, Any], action: str
) -> None:
    nonce = desk.nonce()
    assert_not_nothing(into_full(desk, "outbox", action, *confirmed(waiting)))
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    assert desk.nonce() == nonce + 1


def test_what_is_sent_again(desk: Desk, waiting: dict[str, Any]) -> None:
    nonce = desk.nonce()
    desk.ask("anvil_dropAllTransactions")
    desk.ask("evm_setAutomine", True)
    assert_not_nothing(into_full(desk, "outbox", "resume", *confirmed(waiting)))
    assert desk.nonce() == nonce + 1


def test_an_order_that_stands(desk: Desk) -> None:
    desk.delegate()
    order = desk.approved("order", "close", str(desk.token_id("healthy")), "below", "2000")
    assert_not_nothing(into_full(desk, "apply", *confirmed(order)))
    assert len(desk.here("orders", "--json").data["orders"]) == 1


def test_a_hedge_that_was_sent(desk: Desk) -> None:
    settings = desk.command.home / "settings.toml"
    settings.write_text("[trade]\nhedge_seconds = 1\n", "utf-8")
    settings.chmod(0o600)
    plan = desk.approved("hedge", str(desk.token_id("healthy")))
    hedge = desk.approved("approve", plan["planId"])
    assert_not_nothing(into_full(desk, "apply", *confirmed(hedge)))
    assert desk.here("trade", "status", "--json").data["positions"]
