"""Every plan a home still has, and which of them cannot be judged."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum
from typing import NamedTuple

from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanDocument, PlanStore
from agents.lp.plan_document import plan_in, was_edited
from agents.scorecard.scoring import DecidedPlan


class SkipReason(StrEnum):
    DAMAGED = "its file is damaged"
    OTHER_FLOW = "it is of another flow"
    OTHER_VERSION = "another version of zuno wrote it, or it was changed"
    EDITED = "its file was changed since it was made"
    OTHER_NETWORK = "it was made on another network"
    NOT_ON_CHAIN = "this chain does not have the block or the pool it was made for"


class SkippedPlan(NamedTuple):
    plan_id: str
    reason: SkipReason


class PastPlans(NamedTuple):
    plans: tuple[DecidedPlan, ...]
    skipped: tuple[SkippedPlan, ...]


def past_plans(store: PlanStore, chain_id: int, without: Container[str] = frozenset()) -> PastPlans:
    """Those of this network in the order they were made; files are only looked at."""
    plans, skipped = [], []
    for name, document in store.each(without):
        found = SkipReason.DAMAGED if document is None else _plan(document, chain_id)
        if isinstance(found, SkipReason):
            skipped.append(SkippedPlan(name, found))
        else:
            plans.append(found)
    return PastPlans(tuple(plans), tuple(skipped))


def _plan(document: PlanDocument, chain_id: int) -> DecidedPlan | SkipReason:
    try:
        plan = plan_in(document)
    except NoSuchPlanError:
        return SkipReason.OTHER_FLOW
    except DamagedPlanError:
        return SkipReason.OTHER_VERSION
    if was_edited(plan):
        return SkipReason.EDITED
    if plan.chain_id != chain_id:
        return SkipReason.OTHER_NETWORK
    if plan.recommended.pool_id not in {pool.pool_id for pool in plan.pools}:
        return SkipReason.EDITED
    return DecidedPlan(plan, "rules" if document.get("budget") is None else "model")
