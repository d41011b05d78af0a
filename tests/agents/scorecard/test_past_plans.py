"""Which plans of a home can be judged, and why the others cannot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.lp import FLOW
from agents.lp.plan import plan_identity
from agents.scorecard.judging import SkipReason, past_plans
from tests.agents.lp.made_up import Market
from tests.agents.lp.one_round import concluded, judged

if TYPE_CHECKING:
    from pathlib import Path

    from agents.bus.plan_store import PlanDocument
    from agents.lp.plan import Plan

CHAIN = 31337


def made(sigma: float, chain_id: int = CHAIN) -> Plan:
    context = Market(sigma=sigma).position()
    plan = concluded(context, judged(context)).model_copy(update={"chain_id": chain_id})
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def document(plan: Plan, **beside: object) -> PlanDocument:
    return {**plan.model_dump(mode="json", by_alias=True), "flow": FLOW, "budget": None, **beside}


def test_plans_by_rules_and_by_models_are_found(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    ruled, argued = made(0.02), made(0.03)
    store.keep(document(ruled))
    store.keep(document(argued, budget={"tokens": 3}))
    found = past_plans(store, CHAIN)
    assert {one.plan.plan_id: one.decided_by for one in found.plans} == {
        ruled.plan_id: "rules",
        argued.plan_id: "model",
    }
    assert found.skipped == ()


def test_what_cannot_be_judged_is_named_and_left_where_it_is(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    elsewhere, changed, older = made(0.02, chain_id=1), made(0.03), made(0.025)
    store.keep(document(elsewhere))
    store.keep({**document(changed), "rounds": 9})
    without = document(older)
    del without["rulesMove"]
    store.keep(without)
    store.keep({"planId": "plan_" + "a" * 16, "flow": "trade"})
    damaged = tmp_path / f"plan_{'b' * 16}.json"
    damaged.write_text("{", "utf-8")
    found = past_plans(store, CHAIN)
    assert found.plans == ()
    assert dict(found.skipped) == {
        elsewhere.plan_id: SkipReason.OTHER_NETWORK,
        changed.plan_id: SkipReason.EDITED,
        older.plan_id: SkipReason.OTHER_VERSION,
        "plan_" + "a" * 16: SkipReason.OTHER_FLOW,
        "plan_" + "b" * 16: SkipReason.DAMAGED,
    }
    assert damaged.read_text("utf-8") == "{"
    assert json.loads((tmp_path / f"{changed.plan_id}.json").read_bytes())["rounds"] == 9
