"""Gas against the money it is for."""

from typing import Any

import httpx2
import pytest

from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import USDC
from tests.chain.moves import Moves
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk

MOVES = {
    "close": ("close", "healthy"),
    "collect": ("collect", "healthy"),
    "compound": ("compound", "healthy"),
    "decrease": ("decrease", "healthy", "50%"),
    "increase": ("increase", "healthy", "0.5 WETH"),
    "wrap": ("wrap", "1"),
}


def _needed(approval: dict[str, Any]) -> int:
    return int(approval["gas"]["total"]) + sum(
        int(one["value"]) for one in approval["transactions"]
    )


def _refused_with_the_sum(desk: Desk, approval: dict[str, Any], *command: str) -> None:
    total = int(approval["gas"]["total"])
    assert total == sum(
        int(one["gas"]) * int(one["maxFeePerGas"]) for one in approval["transactions"]
    )
    for missing, code in ((1, REFUSED), (0, 0)):
        desk.ask("anvil_setBalance", desk.devnet.wallet, hex(_needed(approval) - missing))
        spoken = desk.here(*command)
        assert spoken.code == code, spoken.words
        if missing:
            assert f"{total / 10**18:.6g} ETH" in spoken.words


@pytest.mark.parametrize("name", MOVES)
def test_gas_for_every_step_must_be_there(desk: Desk, name: str) -> None:
    command, *rest = MOVES[name]
    if rest[0] == "healthy":
        rest[0] = str(desk.token_id("healthy"))
    desk.ask("anvil_setBalance", desk.devnet.wallet, hex(10 * 10**18))

    _refused_with_the_sum(desk, desk.approved(command, *rest), command, *rest)


def test_a_move_that_could_pay_for_its_exit_alone_is_not_begun(desk: Desk) -> None:
    desk.ask("anvil_setBalance", desk.devnet.wallet, hex(10 * 10**18))
    plan = desk.recommended("near the edge")
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    command = ("approve", plan["planId"], "--candidate", str(move["index"]))
    approval = desk.approved(*command)

    assert len(approval["transactions"]) > 2
    _refused_with_the_sum(desk, approval, *command)


def test_a_position_to_open_needs_gas_as_well(desk: Desk) -> None:
    desk.ask("anvil_setBalance", desk.devnet.wallet, hex(10 * 10**18))
    spoken = desk.here("create", "10 WETH with USDC", "--json", "--deterministic")
    assert spoken.code == 0, spoken.words
    choice = str(spoken.data["candidates"][0]["index"])
    command = ("approve", spoken.data["planId"], "--candidate", choice)

    _refused_with_the_sum(desk, desk.approved(*command), *command)


@pytest.mark.parametrize(("estimate", "signed"), [(21_000, 21_000), (120_000, 180_000)])
def test_a_cancellation_is_signed_for_what_it_needs(desk: Desk, estimate: int, signed: int) -> None:
    approval = desk.approved("collect", str(desk.token_id("healthy")))
    desk.killed_while_waiting(approval, at="collect")

    def dear_data(call: Call) -> Answer | None:
        return {"result": hex(estimate)} if call["method"] == "eth_estimateGas" else None

    with Proxy(desk.devnet.url, dear_data) as proxy:
        confirmed = (approval["planId"], "--confirm", approval["hash"])
        cancelled = desk.command(
            "outbox", "cancel", *confirmed, "--network", "devnet", "--rpc", proxy.url, "--json"
        )
    sent = desk.ask("eth_getTransactionByHash", cancelled.data["hash"])
    desk.ask("evm_setAutomine", True)

    assert (int(sent["gas"], 16), sent["to"], sent["from"]) == (
        signed,
        desk.devnet.wallet,
        desk.devnet.wallet,
    )


STRANGER = "0x" + "66" * 20


def test_gas_dearer_than_what_it_is_for_has_to_be_meant(desk: Desk) -> None:
    token_id, nonce = str(desk.token_id("transferred in")), desk.nonce()
    desk.ask("anvil_setNextBlockBaseFeePerGas", hex(45 * 10**9))
    desk.ask("evm_mine")
    approval = desk.approved("collect", token_id)
    confirmed = (approval["planId"], "--confirm", approval["hash"])

    refused = desk.here("apply", *confirmed)

    assert refused.code == REFUSED
    assert "--anyway" in refused.words
    assert desk.nonce() == nonce
    applied = desk.apply_here(*confirmed, "--anyway")
    assert applied.code == 0, applied.words
    assert desk.nonce() == nonce + 1
    assert (desk.positions()[token_id]["fees0"], desk.positions()[token_id]["fees1"]) == ("0", "0")


def _leave(desk: Desk, amount: int) -> None:
    """So much USDC is left in the wallet."""
    away = desk.held(desk.devnet.wallet, USDC.address) - amount
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, desk.devnet.url, network_named("devnet"))
        data = encode_call("transfer(address,uint256)", STRANGER, away)
        moves.send(DEMO_WALLET, USDC.address, data)


def _taken(desk: Desk, approval: dict[str, Any]) -> int:
    before = desk.held(desk.devnet.wallet, USDC.address)
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--anyway")
    assert applied.code == 0, applied.words
    return before - desk.held(desk.devnet.wallet, USDC.address)


def test_beside_what_is_added_the_other_token_is_taken_as_far_as_it_is_there(desk: Desk) -> None:
    command = ("increase", str(desk.token_id("healthy")), "0.1", "WETH")
    needed = -int(desk.approved(*command)["quoted"][USDC.address])

    assert needed > 0
    # Less than drift may ask for, and enough at the price as it is.
    _leave(desk, needed * 127 // 100)
    assert _taken(desk, desk.approved(*command)) == needed
    _leave(desk, needed // 5)
    nonce = desk.nonce()
    short = desk.here(*command)
    assert short.code == REFUSED
    assert "USDC" in short.words
    assert desk.nonce() == nonce
