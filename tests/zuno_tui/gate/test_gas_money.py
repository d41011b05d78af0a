"""A wallet that cannot pay for every step of a plan: refused when it is approved, with the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.proxy import Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk

if TYPE_CHECKING:
    from tests.fakes.proxy import Answer, Call

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
