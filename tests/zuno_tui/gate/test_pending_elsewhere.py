"""What waits elsewhere, and what goes together."""

from dataclasses import replace
from typing import Any

import pytest

from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.writing import sign_transaction
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk

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


def applied(desk: Desk, approval: dict[str, Any]) -> None:
    spoken = desk.apply_here(approval["planId"], "--confirm", approval["hash"])
    assert spoken.code == 0, spoken.words


def test_all_fees_are_collected_by_one_plan(desk: Desk) -> None:
    before = desk.positions()
    empty, subscribed = desk.token_id("emptied"), desk.token_id("stable")
    approval = desk.approved("collect", "all")

    steps = [one["step"] for one in approval["transactions"]]
    assert steps == ["collect"]
    warnings = " ".join(approval["warnings"])
    assert f"#{empty}" in warnings
    assert f"collect {subscribed}" in warnings, "its subscription is left alone"
    applied(desk, approval)

    after = desk.positions()
    assert after.keys() == before.keys()
    waiting = [one for one in after.values() if int(one["fees0"]) or int(one["fees1"])]
    assert [one["tokenId"] for one in waiting] == [str(subscribed)]


def test_closing_all_leaves_none(desk: Desk) -> None:
    assert len(desk.positions()) > 10
    applied(desk, desk.approved("close", "all"))

    assert desk.positions() == {}


def test_what_stands_in_the_way_is_named_and_the_rest_offered(desk: Desk) -> None:
    hooked = desk.token_id("hooked")
    refused = desk.here("compound", "all")

    assert refused.code == REFUSED
    assert f"#{hooked} stands in the way" in refused.words
    offered = refused.words.rpartition("Without it: zuno ")[2].split()
    assert str(hooked) not in offered
    before = desk.positions()
    applied(desk, desk.approved(*offered))

    after = desk.positions()
    grown = [one for one in offered[1:] if after[one]["liquidity"] > before[one]["liquidity"]]
    assert grown == offered[1:]
    assert len(grown) >= 3


@pytest.mark.parametrize("changed", ["price", "liquidity"])
def test_a_change_of_any_of_them_is_drift(desk: Desk, changed: str) -> None:
    """Not only of the first."""
    first, other = desk.token_id("healthy"), desk.token_id("native")
    approval = desk.approved("close", str(first), str(other))
    if changed == "price":
        desk.raise_price(desk.positions()[str(other)]["poolId"], bips=400)
    else:
        applied(desk, desk.approved("decrease", str(other), "10"))
    refused = desk.refused(approval["planId"], "--confirm", approval["hash"])

    assert f"of #{other}" in refused.words
