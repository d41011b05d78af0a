"""A transaction of the wallet that another program sent and no block holds yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.writing import sign_transaction
from tests.fakes.proxy import Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk

if TYPE_CHECKING:
    from tests.fakes.proxy import Answer, Call

GWEI = 10**9


def _sent_by_another_program(desk: Desk) -> int:
    nonce = desk.nonce()
    desk.ask("evm_setAutomine", False)
    signed = sign_transaction(
        DEMO_WALLET.key,
        nonce=nonce,
        to=DEMO_WALLET.address,
        gas=21_000,
        max_fee_per_gas=50 * GWEI,
        max_priority_fee_per_gas=GWEI,
    )
    desk.ask("eth_sendRawTransaction", "0x" + signed.raw.hex())
    return nonce


def test_nothing_is_approved_on_top_of_it(desk: Desk) -> None:
    position = str(desk.token_id("transferred in"))
    nonce = _sent_by_another_program(desk)

    refused = desk.here("collect", position)
    desk.ask("evm_mine")
    after = desk.here("collect", position)

    assert refused.code == REFUSED
    assert f"nonce {nonce}" in refused.words
    assert after.code == 0, after.words


def test_it_is_drift_where_it_came_after_the_approval(desk: Desk) -> None:
    approval = desk.approved("collect", str(desk.token_id("transferred in")))
    nonce = _sent_by_another_program(desk)

    refused = desk.refused(approval["planId"], "--confirm", approval["hash"])

    assert f"nonce {nonce}" in refused.words
    assert desk.nonce() == nonce


def test_it_is_seen_where_only_the_second_endpoint_holds_it(desk: Desk) -> None:
    nonce = _sent_by_another_program(desk)

    def holds_nothing(call: Call) -> Answer | None:
        asked = call["method"] == "eth_getTransactionCount" and call["params"][1] == "pending"
        return {"result": hex(nonce)} if asked else None

    with Proxy(desk.devnet.url, holds_nothing) as other:
        both = replace(desk, rpc=f"{other.url},{desk.devnet.url}")
        refused = both.here("collect", str(desk.token_id("transferred in")))

    assert refused.code == REFUSED
    assert f"nonce {nonce}" in refused.words


def test_what_this_home_sent_itself_is_known(desk: Desk) -> None:
    first = desk.approved("collect", str(desk.token_id("transferred in")))
    desk.killed_while_waiting(first, at="collect")

    other = desk.here("collect", str(desk.token_id("healthy")))

    assert other.code == 0, other.words
