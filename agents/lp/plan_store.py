"""Plans as they are kept and printed: the plan, what was said for it, and what it took."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

from chain.base import strict_json
from chain.base.home import set_aside, write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agents.lp.debate import DebateEnd
    from agents.lp.plan import Plan
    from agents.model.budget import BudgetReport

_PLAN_ID = re.compile(r"plan_[0-9a-f]{16}")
_HASH = re.compile(r"[0-9a-f]{64}")
_BESIDE_THE_PLAN = ("requestId", "recordHash", "transcript", "claims", "budget")

PlanDocument = dict[str, object]


class NoSuchPlanError(LookupError):
    """A plan that is not on the shelf; the message says what is."""


class DamagedPlanError(Exception):
    """A file that holds no plan; the message says where it is now and what to do."""


class PlanStore:
    """One file a plan, the newest last read as "the" plan."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def keep(self, document: PlanDocument) -> Path:
        path = self._folder / f"{document['planId']}.json"
        write_atomically(path, json.dumps(document, indent=2).encode() + b"\n")
        return path

    def find(self, plan_id: str | None) -> PlanDocument:
        """The plan of this id, or the newest when none is named; a damaged one is set aside."""
        path = self._newest() if plan_id is None else self._named(plan_id)
        document = _read(path)
        if document is None:
            aside = set_aside(path, now=self._clock())
            raise DamagedPlanError(
                f"{path.name} is damaged and holds no plan. It is kept as {aside}. "
                "Ask for a new plan: zuno recommend ID"
            )
        return document

    def record_hash(self, request_id: str) -> str | None:
        """The last hash of a debate's record, as the plan that came of it names it."""
        # Looked for in the bytes first, so that a thousand plans are not all parsed.
        named = json.dumps(request_id).encode()
        for path in reversed(self._by_age()):
            document = _read(path) if named in path.read_bytes() else None
            if document is not None and document.get("requestId") == request_id:
                return record_hash(document)
        return None

    def _named(self, plan_id: str) -> Path:
        # The id becomes a file's name: nothing else may.
        path = self._folder / f"{plan_id}.json"
        if not _PLAN_ID.fullmatch(plan_id) or not path.exists():
            raise NoSuchPlanError(f"There is no plan {plan_id!r}. See the latest: zuno plan")
        return path

    def _newest(self) -> Path:
        plans = self._by_age()
        if not plans:
            raise NoSuchPlanError("There is no plan yet. Ask for one: zuno recommend ID")
        return plans[-1]

    def _by_age(self) -> list[Path]:
        """The oldest first."""
        return sorted(self._folder.glob("plan_*.json"), key=lambda path: path.stat().st_mtime_ns)


def plan_document(ended: DebateEnd, budget: BudgetReport | None, record_hash: str) -> PlanDocument:
    """The plan with its transcript, its claims and its budget, as JSON has it.

    The record's last hash stands beside the plan and not in it: the record holds the plan, so no
    plan can hold a hash over its own record.
    """
    if ended.plan is None:
        raise ValueError("A debate without a plan has no document.")
    turns = [
        {"role": turn.role, **turn.thought.model_dump(mode="json", by_alias=True)}
        for turn in ended.transcript
    ]
    return {
        **ended.plan.model_dump(mode="json", by_alias=True),
        "requestId": ended.request_id,
        "recordHash": record_hash,
        "transcript": turns,
        "claims": {
            "cited": sum(turn.thought.cited for turn in ended.transcript),
            "struck": sum(len(turn.thought.struck) for turn in ended.transcript),
        },
        "budget": None if budget is None else _budget(budget),
    }


def plan_in(document: PlanDocument) -> Plan:
    """The plan of a document, without what stands beside it."""
    from pydantic import ValidationError

    from agents.lp.plan import Plan

    core = {name: value for name, value in document.items() if name not in _BESIDE_THE_PLAN}
    try:
        return Plan.model_validate(core, strict=False)
    except ValidationError as error:
        raise DamagedPlanError(
            f"The file of {_named_in(document)} does not hold a plan that this zuno can read "
            f"({error.error_count()} faults): another version wrote it, or it was changed. "
            "Ask for a new plan: zuno recommend ID"
        ) from None


def was_edited(plan: Plan) -> bool:
    """Whether a plan is no longer what its id says: the id is a hash over all of it."""
    from agents.lp.plan import plan_identity

    return plan_identity(plan) != plan.plan_id


def record_hash(document: PlanDocument) -> str | None:
    """The last hash of the plan's record; None where the document names none."""
    named = document.get("recordHash")
    return named if isinstance(named, str) and _HASH.fullmatch(named) else None


def _read(path: Path) -> PlanDocument | None:
    """A file's document; None where it holds none, or that of another plan."""
    try:
        document = strict_json.loads(path.read_bytes())
    except strict_json.InvalidJsonError:
        return None
    if not isinstance(document, dict) or document.get("planId") != path.stem:
        return None
    return document


def _named_in(document: PlanDocument) -> str:
    plan_id = document.get("planId")
    return plan_id if isinstance(plan_id, str) and _PLAN_ID.fullmatch(plan_id) else "this plan"


def _budget(report: BudgetReport) -> dict[str, object]:
    return {
        "tokens": report.debate.tokens,
        "dollars": report.debate.nano_usd / 1e9 if not report.debate.unpriced_tokens else None,
        "byRole": {role: spent.tokens for role, spent in sorted(report.by_role.items())},
        "dayTokens": None if report.day is None else report.day.tokens,
        "debateLimit": report.limits.debate_tokens,
        "dayLimit": report.limits.day_tokens,
    }
