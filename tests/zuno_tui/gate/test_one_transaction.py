"""A delegated account carries out a plan as one transaction, and is taken back."""

from dataclasses import replace
from typing import Any

import pytest

from chain.base.units import GWEI
from chain.contracts.delegation import BatchCall, execute_batch
from chain.contracts.networks import NATIVE
from chain.devnet.world.deployment import CONTRACTS
from chain.execution.decode.decoder import decode_call, encode_call
from chain.execution.plan.records import Batch
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.desk import Desk, assert_nothing_left, assert_within_bounds


def signed(desk: Desk, *command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Approved and applied: what was approved, and what came of it."""
    approval = desk.approved(*command)
    # Some of it moves less than its gas costs.
    confirmed = (approval["planId"], "--confirm", approval["hash"])
    spoken = desk.apply_here(*confirmed, "--anyway", "--json")
    assert spoken.code == 0, spoken.words
    return approval, spoken.data


def gas_of(approval: dict[str, Any]) -> int:
    return sum(int(each["gas"]) for each in approval["transactions"])


def assert_as_shown(approval: dict[str, Any], result: dict[str, Any]) -> None:
    for token, amount in result["realised"].items():
        assert int(amount) == int(approval["quoted"][token])


def assert_costs_as_promised(approval: dict[str, Any], result: dict[str, Any]) -> None:
    [promised] = [line["words"] for line in approval["receipt"]["lines"] if line["part"] == "pay"]
    paid = sum(int(each["gasCost"]) for each in result["transactions"])
    about = float(promised.removeprefix("network about ").removesuffix(" ETH"))
    assert about * 10**18 == pytest.approx(paid, rel=0.01)


def account_code(desk: Desk) -> str:
    return str(desk.ask("eth_getCode", desk.devnet.wallet, "latest"))


def lent(desk: Desk) -> None:
    before = desk.nonce()
    approval, result = signed(desk, "wallet", "delegate")
    assert [step["step"] for step in approval["transactions"]] == ["delegate"]
    assert result["state"] == "included"
    assert_costs_as_promised(approval, result)
    assert account_code(desk) == "0xef0100" + str(CONTRACTS.delegate)[2:]
    # One for the transaction, one for the leave that it carries.
    assert desk.nonce() == before + 2


def told_of_account(desk: Desk) -> set[str]:
    """How the account sends plans, by the doctor and by the list of wallets."""
    desk.here("wallet", "import", desk.devnet.wallet)
    doctor = {one["name"]: one["finding"] for one in desk.here("doctor", "--json").data["checks"]}
    (listed,) = desk.here("wallet", "list", "--json").data["wallets"]
    return {doctor["account"], listed["account"]}


def test_the_account_is_lent_and_taken_back(desk: Desk) -> None:
    lent(desk)
    assert told_of_account(desk) == {"delegated: plans go as one transaction"}
    approval, result = signed(desk, "wallet", "undelegate")

    assert_costs_as_promised(approval, result)
    assert result["state"] == "included"
    assert account_code(desk) == "0x"
    assert told_of_account(desk) == {"not delegated: plans go as several transactions"}
    assert "nothing to undo" in desk.here("wallet", "undelegate").words


def test_a_range_moves_in_one_transaction(delegated: Desk) -> None:
    state = "above its range"
    plan = delegated.recommended(state)["planId"]
    in_steps = delegated.approved("approve", plan, "--candidate", "A", "--transactions", "steps")
    approval, result = signed(delegated, "approve", plan, "--candidate", "A")
    printed(
        f"G29: {len(in_steps['transactions'])} transactions or 1: "
        f"{gas_of(in_steps)} or {gas_of(approval)} gas"
    )

    assert len(in_steps["transactions"]) > 1
    assert [step["step"] for step in approval["transactions"]] == ["batch"]
    assert len(result["transactions"]) == 1
    assert_within_bounds(approval, result)
    assert_nothing_left(delegated, approval["tokens"])


COMMANDS = (
    "swap 0.3 WETH USDC",
    "swap 500 USDC WETH",
    "increase @healthy 0.5 WETH",
    "close @stable",
    "compound @stable",
    "close all",
)


@pytest.mark.parametrize("command", some_of(zip(COMMANDS, strict=True), 2, seed=47))
def test_what_takes_several_steps_takes_one_transaction(delegated: Desk, command: str) -> None:
    words = [
        str(delegated.token_id(word[1:])) if word.startswith("@") else word
        for word in command.split()
    ]
    in_steps = delegated.approved(*words, "--transactions", "steps")
    approval = delegated.approved(*words)
    rehearsed = delegated.here("rehearse", approval["planId"], "--json")
    assert rehearsed.code == 0, rehearsed.words
    assert rehearsed.data["asApproved"] is True
    approval, result = signed(delegated, *words)
    used = result["transactions"][0]["gasUsed"]
    printed(
        f"G29: {command}: {len(in_steps['transactions'])} transactions of "
        f"{gas_of(in_steps):,} gas at most, or one of {gas_of(approval):,}; {used:,} used"
    )

    assert len(in_steps["transactions"]) > 1
    assert [each["step"] for each in approval["transactions"]] == ["batch"]
    assert result["state"] == "included"
    assert_as_shown(approval, result)
    assert_nothing_left(delegated, approval["tokens"])


def test_a_position_is_opened_with_a_swap_in_one_transaction(delegated: Desk) -> None:
    plan = delegated.here("create", "1 WETH with USDC", "--json", "--deterministic").data
    option = next(
        str(each["index"])
        for each in plan["candidates"]
        if each["judgment"]["verdict"] != "veto" and each["prepAction"] is not None
    )
    approval, result = signed(delegated, "approve", plan["planId"], "--candidate", option)

    assert [each["step"] for each in approval["transactions"]] == ["batch"]
    assert result["newTokenId"] is not None
    assert_as_shown(approval, result)
    assert_nothing_left(delegated, approval["tokens"])


def test_a_batch_is_rehearsed_and_so_is_lending_the_account(desk: Desk) -> None:
    lending = desk.approved("wallet", "delegate")
    rehearsed = desk.here("rehearse", lending["planId"], "--json")
    assert rehearsed.code == 0, rehearsed.words
    signed(desk, "wallet", "delegate")
    plan = desk.recommended("above its range")["planId"]
    approval = desk.approved("approve", plan, "--candidate", "A")
    rehearsed = desk.here("rehearse", approval["planId"], "--json")

    assert rehearsed.code == 0, rehearsed.words
    assert rehearsed.data["asApproved"] is True


def test_a_batch_is_exported_call_by_call(delegated: Desk) -> None:
    approval = delegated.approved("swap", "0.3", "WETH", "USDC")
    exported = delegated.here("export", approval["planId"], "--format", "safe")

    assert exported.code == 0, exported.words
    assert len(exported.data["transactions"]) > 2
    called = {each["to"].lower() for each in exported.data["transactions"]}
    assert delegated.devnet.wallet not in called


FAILING = BatchCall("0x" + "00" * 19 + "04", 10**30, b"")
"""More coins than anybody has."""


def test_a_last_call_that_fails_undoes_everything(delegated: Desk) -> None:
    approval = delegated.approved("increase", str(delegated.token_id("healthy")), "0.5 WETH")
    (batch,) = approval["transactions"]
    calls = _calls(bytes.fromhex(batch["data"][2:]))
    wallet, before = delegated.devnet.wallet, _standing(delegated, approval)
    delegated.ask("anvil_impersonateAccount", wallet)
    for _ in range(5):
        sent = delegated.ask(
            "eth_sendTransaction",
            {
                "from": wallet,
                "to": wallet,
                "gas": hex(2_000_000),
                "maxFeePerGas": hex(100 * GWEI),
                "maxPriorityFeePerGas": hex(1),
                "data": "0x" + execute_batch([*calls, FAILING], "execute").hex(),
            },
        )
        assert _receipt(delegated, sent)["status"] == "0x0"
        assert _standing(delegated, approval) == before
    delegated.ask("anvil_stopImpersonatingAccount", wallet)
    assert account_code(delegated) != "0x"


def _receipt(desk: Desk, sent: str) -> dict[str, Any]:
    """A busy node answers before it has mined."""
    return node_rpc.receipt(desk.devnet.url, sent)


def _calls(data: bytes) -> list[BatchCall]:
    batch = decode_call(data)
    assert isinstance(batch, Batch)
    return [BatchCall(each.to, each.value, encode_call(each.call)) for each in batch.calls]


def _standing(desk: Desk, approval: dict[str, Any]) -> tuple[object, ...]:
    tokens = [token for token in approval["tokens"] if token != NATIVE]
    router = str(desk.devnet.contracts.position_manager)
    wallet, permit2 = desk.devnet.wallet, desk.devnet.contracts.permit2
    return tuple(
        (
            desk.held(wallet, token),
            desk.allowed_through_permit2(token, router),
            desk.read(token, "allowance(address,address)", wallet, permit2),
        )
        for token in tokens
    )


@pytest.mark.parametrize("step", ["delegate", "batch", "undelegate"])
def test_killed_while_it_waits_it_happens_once_and_is_told(desk: Desk, step: str) -> None:
    if step != "delegate":
        desk.delegate()
    command = ("swap", "0.3", "WETH", "USDC") if step == "batch" else ("wallet", step)
    approval = desk.approved(*command)
    before = desk.nonce()
    assert desk.killed_while_waiting(approval, at=step) == -9
    again = desk.apply(approval["planId"], "--confirm", approval["hash"])
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    told = desk.here("outbox", "--json").data

    assert again.code == 3, again.words
    # Who takes the account back cancels what was signed for other keys first.
    assert desk.nonce() == before + {"batch": 1, "delegate": 2, "undelegate": 3}[step]
    (mine,) = [one for one in told["dispatches"] if one["hash"] == approval["hash"]]
    assert {each["state"] for each in mine["steps"]} <= {"included", "final"}, mine
    assert (account_code(desk) == "0x") is (step == "undelegate")


def test_a_node_that_holds_one_transaction_at_a_time_is_understood(delegated: Desk) -> None:
    limit = "in-flight transaction limit reached for delegated accounts"

    def refuses(call: Call) -> Answer | None:
        if call["method"] != "eth_sendRawTransaction":
            return None
        return {"error": {"code": -32000, "message": limit}}

    approval = delegated.approved("swap", "0.3", "WETH", "USDC")
    before = delegated.nonce()
    with Proxy(delegated.devnet.url, refuses) as proxy:
        there = replace(delegated, rpc=proxy.url)
        spoken = there.apply(approval["planId"], "--confirm", approval["hash"])
    assert spoken.code != 0
    assert "one transaction of a delegated account at a time" in spoken.words
    assert delegated.nonce() == before
    resumed = delegated.command(
        "outbox", "resume", approval["planId"], "--confirm", approval["hash"], *delegated.flags
    )
    assert resumed.code == 0, resumed.words
    assert delegated.nonce() == before + 1


def test_other_code_than_is_known_is_not_lent_to_and_carries_out_nothing(desk: Desk) -> None:
    delegate = str(CONTRACTS.delegate)
    code = str(desk.ask("eth_getCode", delegate, "latest"))
    spoilt = code[:-1] + ("0" if code[-1] != "0" else "1")
    desk.ask("anvil_setCode", delegate, spoilt)
    refused = desk.here("wallet", "delegate")
    assert (refused.code, "is not the known code" in refused.words) == (3, True)
    desk.delegate()
    approval = desk.approved("swap", "0.3", "WETH", "USDC")
    assert len(approval["transactions"]) > 1
    assert "Sent in steps" in desk.here("swap", "0.3", "WETH", "USDC").out
    assert desk.here("swap", "0.3", "WETH", "USDC", "--transactions", "one").code == 3
    desk.ask("anvil_setCode", delegate, code)


def test_an_account_that_runs_other_code_is_left_alone(desk: Desk) -> None:
    wallet, other = desk.devnet.wallet, desk.devnet.contracts.multicall3
    desk.ask("anvil_setCode", wallet, "0xef0100" + other[2:])
    told = desk.here("swap", "0.3", "WETH", "USDC")
    assert told.code == 0
    assert "Sent in steps: the account runs code that zuno does not know" in told.out
    assert "other code already" in desk.here("wallet", "delegate").words
    _, result = signed(desk, "wallet", "undelegate")
    assert result["state"] == "included"
    assert account_code(desk) == "0x"


def test_what_would_fill_half_a_block_goes_in_steps_and_says_so(delegated: Desk) -> None:
    command = ("increase", str(delegated.token_id("healthy")), "0.5 WETH")
    limit = delegated.ask("eth_getBlockByNumber", "latest", False)["gasLimit"]
    delegated.ask("evm_setBlockGasLimit", hex(600_000))
    delegated.ask("evm_mine")
    told = delegated.here(*command)
    delegated.ask("evm_setBlockGasLimit", limit)

    assert told.code == 0, told.words
    assert "too much of a block's gas" in told.out
    assert "5 add to #" in told.out


def test_cancelling_a_delegation_says_that_its_authorization_stays_usable(desk: Desk) -> None:
    approval = desk.approved("wallet", "delegate")
    desk.killed_while_waiting(approval, at="delegate")
    page = desk.here("outbox", "cancel", approval["planId"])
    desk.ask("evm_setAutomine", True)

    assert "anybody can still use the authorization it carried" in " ".join(page.words.split())
