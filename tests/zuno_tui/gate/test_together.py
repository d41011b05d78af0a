"""Collecting, compounding and closing all: one plan, one signature, and nothing left out unsaid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.zuno_tui.gate.desk import REFUSED

if TYPE_CHECKING:
    from typing import Any

    from tests.zuno_tui.gate.desk import Desk


def applied(desk: Desk, approval: dict[str, Any]) -> None:
    spoken = desk.apply(approval["planId"], "--confirm", approval["hash"])
    assert spoken.code == 0, spoken.words


def test_all_fees_are_collected_by_one_plan(desk: Desk) -> None:
    before = desk.positions()
    empty = desk.token_id("emptied")
    approval = desk.approved("collect", "all")

    steps = [one["step"] for one in approval["transactions"]]
    assert steps == ["unsubscribe", "collect"]
    subscribed, left_out = approval["warnings"]
    assert f"ends the subscription of #{desk.token_id('stable')} to 0x" in subscribed
    assert f"#{empty}" in left_out
    applied(desk, approval)

    after = desk.positions()
    assert after.keys() == before.keys()
    waiting = [one for one in after.values() if int(one["fees0"]) or int(one["fees1"])]
    assert waiting == []


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
