"""The store keeps plans of any flow, and hands each only to those who know it."""

import os
from pathlib import Path

import pytest

from agents.bus.plan_store import NoSuchPlanError, PlanStore
from agents.lp.plan_document import plan_document, plan_in
from chain.protocols.reference import v4_position
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import Market

TRADE = {"planId": "plan_0123456789abcdef", "flow": "trade", "requestId": "req_9", "side": "buy"}


async def test_plans_of_two_flows_lie_side_by_side(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    argued = await argue_over(Market(0.03, 2.0).position())
    document = plan_document(argued.ended, None, "0" * 64)
    store.keep(document)
    store.keep({**TRADE, "recordHash": "1" * 64})

    kept = store.find(str(document["planId"]))
    assert kept["flow"] == "lp"
    assert plan_in(kept) == argued.plan
    assert store.find(None)["side"] == "buy", "the newest is the newest of any flow"
    assert store.record_hash("req_9") == "1" * 64


def test_the_newest_plans_of_a_position_are_found(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    for number, position in enumerate(("7", "77", "7", None, "7")):
        path = store.keep({"planId": f"plan_{number:016x}", "flow": "lp", "position": position})
        os.utime(path, (number, number))

    found = [one["planId"] for one in store.about(v4_position(7), most=2)]

    assert found == [f"plan_{4:016x}", f"plan_{2:016x}"]
    assert store.about(v4_position(78), most=2) == []


def test_a_plan_of_another_flow_is_no_liquidity_plan() -> None:
    with pytest.raises(NoSuchPlanError, match="trade"):
        plan_in(dict(TRADE))


async def test_a_plan_from_before_flows_were_named_is_one_of_the_debate() -> None:
    argued = await argue_over(Market(0.03, 2.0).position())
    document = plan_document(argued.ended, None, "0" * 64)
    assert plan_in({name: document[name] for name in document if name != "flow"}) == argued.plan


@pytest.mark.parametrize("missing", ["planId", "flow"])
def test_a_plan_without_an_id_or_a_flow_is_not_kept(tmp_path: Path, missing: str) -> None:
    with pytest.raises(ValueError, match="id and its flow"):
        PlanStore(tmp_path).keep({name: TRADE[name] for name in TRADE if name != missing})
    assert list(tmp_path.iterdir()) == []
