"""Gas dearer than what it is for, and too little of the other token: what is asked, and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import USDC
from tests.chain.moves import Moves
from tests.zuno_tui.gate.desk import REFUSED, Desk

if TYPE_CHECKING:
    from typing import Any

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
    applied = desk.apply(*confirmed, "--anyway")
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
    applied = desk.apply(approval["planId"], "--confirm", approval["hash"], "--anyway")
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
