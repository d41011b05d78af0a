"""Plans as they are kept and printed: the plan, what was said for it, and what it took."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from chain.home import write_atomically
from chain.rpc import strict_json

if TYPE_CHECKING:
    from pathlib import Path

    from agents.debate import Ended
    from agents.model.budget import BudgetReport

_PLAN_ID = re.compile(r"plan_[0-9a-f]{16}")

PlanDocument = dict[str, object]


class NoSuchPlanError(LookupError):
    """A plan that is not on the shelf; the message says what is."""


class PlanShelf:
    """One file a plan, the newest last read as "the" plan."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, document: PlanDocument) -> Path:
        path = self._folder / f"{document['planId']}.json"
        write_atomically(path, json.dumps(document, indent=2).encode() + b"\n")
        return path

    def find(self, plan_id: str | None) -> PlanDocument:
        """The plan of this id, or the newest when none is named."""
        path = self._newest() if plan_id is None else self._named(plan_id)
        document = strict_json.loads(path.read_bytes())
        if not isinstance(document, dict):
            raise NoSuchPlanError(f"{path.name} does not hold a plan.")
        return document

    def _named(self, plan_id: str) -> Path:
        # The id becomes a file's name: nothing else may.
        path = self._folder / f"{plan_id}.json"
        if not _PLAN_ID.fullmatch(plan_id) or not path.exists():
            raise NoSuchPlanError(f"There is no plan {plan_id!r}. See the latest: zuno plan")
        return path

    def _newest(self) -> Path:
        plans = sorted(self._folder.glob("plan_*.json"), key=lambda path: path.stat().st_mtime_ns)
        if not plans:
            raise NoSuchPlanError("There is no plan yet. Ask for one: zuno recommend ID")
        return plans[-1]


def plan_document(ended: Ended, budget: BudgetReport | None) -> PlanDocument:
    """The plan with its transcript, its claims and its budget, as JSON has it."""
    if ended.plan is None:
        raise ValueError("A debate without a plan has no document.")
    turns = [
        {"role": turn.role.value, **turn.thought.model_dump(mode="json", by_alias=True)}
        for turn in ended.transcript
    ]
    return {
        **ended.plan.model_dump(mode="json", by_alias=True),
        "requestId": ended.request_id,
        "transcript": turns,
        "claims": {
            "cited": sum(turn.thought.cited for turn in ended.transcript),
            "struck": sum(len(turn.thought.struck) for turn in ended.transcript),
        },
        "budget": None if budget is None else _budget(budget),
    }


def _budget(report: BudgetReport) -> dict[str, object]:
    return {
        "tokens": report.debate.tokens,
        "dollars": report.debate.nano_usd / 1e9 if not report.debate.unpriced_tokens else None,
        "byRole": {role: spent.tokens for role, spent in sorted(report.by_role.items())},
        "dayTokens": None if report.day is None else report.day.tokens,
        "debateLimit": report.limits.debate_tokens,
        "dayLimit": report.limits.day_tokens,
    }
