"""Plans as flows leave them: one file a plan, with what was said for it and what it took."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chain.base import strict_json
from chain.base.errors import ZunoError
from chain.base.home import set_aside, write_atomically
from chain.protocols.reference import PositionRef, position_name

if TYPE_CHECKING:
    from agents.bus.envelope import Payload
    from agents.bus.run import ArgumentEnd

PlanT = TypeVar("PlanT", bound="Payload")
_PLAN_ID = re.compile(r"plan_[0-9a-f]{16}")
_HASH = re.compile(r"[0-9a-f]{64}")
_BESIDE_THE_PLAN = ("flow", "requestId", "recordHash", "transcript", "claims", "budget")

PlanDocument = dict[str, object]


class NoSuchPlanError(ZunoError, LookupError):
    """A plan that is not in the store, or not of the flow it is wanted for; says what to do."""


class DamagedPlanError(ZunoError):
    """A file that holds no plan; the message says where it is now and what to do."""


def document_of(ended: ArgumentEnd[PlanT], flow: str, record_hash: str) -> PlanDocument:
    """A plan with what was said for it, as JSON has it.

    The record's last hash stands beside the plan and not in it: the record holds the plan, so no
    plan can hold a hash over its own record.
    """
    if ended.plan is None:
        raise ValueError("What ended without a plan has no document.")
    turns = [
        {"role": turn.role, **turn.thought.model_dump(mode="json", by_alias=True)}
        for turn in ended.transcript
    ]
    return {
        **ended.plan.model_dump(mode="json", by_alias=True),
        "flow": flow,
        "requestId": ended.request_id,
        "recordHash": record_hash,
        "transcript": turns,
    }


def plan_of(document: PlanDocument, flow: str, kind: type[PlanT], again: str) -> PlanT:
    """The plan of a document, without what stands beside it; `again` says how to get a new one."""
    from pydantic import ValidationError

    try:
        return kind.model_validate(plan_fields(document, flow), strict=False)
    except ValidationError as error:
        missing = any(fault["type"] == "missing" for fault in error.errors())
        beyond = any(fault["type"] == "extra_forbidden" for fault in error.errors())
        who = "an older zuno wrote it" if missing else "a newer zuno wrote it, or it was changed"
        if not missing and not beyond:
            who = "it was changed"
        raise DamagedPlanError(
            f"{plan_name(document)} cannot be read by this zuno: {who}. Its record can still be "
            f"replayed by the zuno that wrote it. Ask for a new plan: {again}"
        ) from None


class PlanStore:
    """One file a plan, the newest last read as "the" plan."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def keep(self, document: PlanDocument) -> Path:
        """Put a plan of any flow away: what it must have is an id, and the flow it comes of."""
        if not _PLAN_ID.fullmatch(str(document.get("planId"))) or not document.get("flow"):
            raise ValueError("A plan that is kept names its id and its flow.")
        path = self._folder / f"{document['planId']}.json"
        write_atomically(path, json.dumps(document, indent=2).encode() + b"\n")
        return path

    def find(self, plan_id: str | None, flow: str | None = None) -> PlanDocument:
        """The plan of this id, or the newest when none is named; a damaged one is set aside.

        Of a flow that is named the newest is looked for among its own.
        """
        path = self._newest(flow) if plan_id is None else self._named(plan_id)
        document = _read(path)
        if document is None:
            aside = set_aside(path, now=self._clock())
            raise DamagedPlanError(
                f"{path.name} is damaged and holds no plan. It is kept as {aside}. "
                "Ask for a new plan: zuno recommend ID"
            )
        return document

    def flow_of(self, plan_id: str | None) -> str | None:
        """Which flow the plan of this id, or the newest, comes of; only looked at."""
        try:
            path = self._newest(None) if plan_id is None else self._named(plan_id)
        except NoSuchPlanError:
            return None
        found = (_read(path) or {}).get("flow")
        return found if isinstance(found, str) else None

    def each(
        self, without: Container[str] = frozenset()
    ) -> Iterator[tuple[str, PlanDocument | None]]:
        """Every plan by the name of its file, the oldest first; None where a file holds none."""
        for path in self._by_age():
            if path.stem not in without:
                yield path.stem, _read(path)

    def about(self, ref: PositionRef, most: int) -> list[PlanDocument]:
        """The newest plans for a position, the newest first."""
        # Looked for in the bytes first, so that a thousand plans are not all parsed.
        name = position_name(ref)
        named, found = f'"position": "{name}"'.encode(), []
        for path in reversed(self._by_age()):
            document = _read(path) if named in path.read_bytes() else None
            if document is not None and document.get("position") == name:
                found.append(document)
            if len(found) >= most:
                break
        return found

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

    def _newest(self, flow: str | None) -> Path:
        for path in reversed(self._by_age()):
            if flow is None:
                return path
            document = _read(path)
            # One that cannot be read is of whoever asks: it is set aside and named.
            if document is None or document.get("flow", flow) == flow:
                return path
        raise NoSuchPlanError("There is no plan yet. Ask for one: zuno recommend ID")

    def _by_age(self) -> list[Path]:
        """The oldest first."""
        return sorted(self._folder.glob("plan_*.json"), key=lambda path: path.stat().st_mtime_ns)


def plan_fields(document: PlanDocument, flow: str) -> PlanDocument:
    """The plan's own fields, without what stands beside it; of this flow alone."""
    # The first plans were all of one flow and did not name it.
    written_by = document.get("flow", flow)
    if written_by != flow:
        raise NoSuchPlanError(
            f"{plan_name(document)} is of the flow {written_by!r}, not of {flow!r}. "
            "See the latest: zuno plan"
        )
    return {name: value for name, value in document.items() if name not in _BESIDE_THE_PLAN}


def plan_name(document: PlanDocument) -> str:
    plan_id = document.get("planId")
    return plan_id if isinstance(plan_id, str) and _PLAN_ID.fullmatch(plan_id) else "this plan"


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
