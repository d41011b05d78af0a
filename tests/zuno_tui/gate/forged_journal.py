"""A journal as a thief with write access leaves it: other bytes, other terms, sealed anew."""

import copy
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from chain.base.units import APPROVAL_SECONDS
from chain.execution.decode.decoder import decode_call, encode_call
from chain.execution.outbox.journal import unsigned_to_text
from chain.execution.outbox.outbox import Outbox
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import Call
from chain.execution.transaction import UnsignedTransaction
from zuno_tui.gate.approval_tag import make_tag
from zuno_tui.gate.approvals import read_approval, seal_again

Document = dict[str, Any]

_UNSEALED = "f" * 64


@dataclass
class Draft:
    """The steps and terms of one approval, to be changed at will before they are written back."""

    plan_id: str
    honest_hash: str
    steps: list[UnsignedTransaction]
    deadlines: list[int | None]
    terms: Document

    def change_step(self, place: int, **changes: Any) -> None:
        self.steps[place] = replace(self.steps[place], **changes)

    def records(self, *kinds: type[Any]) -> list[tuple[int, Any]]:
        """Every call, command and action of these kinds, with the step it stands in."""
        return [
            (place, record)
            for place, step in enumerate(self.steps)
            if (call := _read(step.data)) is not None
            for record in _all_records(call)
            if isinstance(record, kinds)
        ]

    def rewrite(self, place: int, old: object, new: object) -> None:
        """Put another record in the place of one, and encode the whole call anew."""
        call = decode_call(self.steps[place].data)
        changed = _rewritten(call, lambda one: new if one == old else one)
        self.change_step(place, data=encode_call(changed))


def read_draft(path: Path, sealed: str) -> Draft:
    """The approval under a hash, as the file holds it."""
    with Outbox.open(path) as outbox:
        dispatch = outbox.dispatch(sealed)
        given = outbox.find_given(sealed)
    assert given is not None
    return Draft(
        dispatch.plan_id,
        sealed,
        [step.transaction for step in dispatch.steps],
        [step.deadline for step in dispatch.steps],
        copy.deepcopy(dict(given.terms)),
    )


def write_forged(path: Path, draft: Draft, *, seal: bool = True, tag: bool = True) -> str:
    """Put the draft in the place of the honest approval; its hash, made anew where it can be.

    The worst thief has this machine's key, too, and tags what was forged.
    """
    with closing(sqlite3.connect(path)) as journal, journal:
        _write(journal, draft, _UNSEALED if seal else draft.honest_hash)
    if not seal:
        return draft.honest_hash
    sealed = _sealed(path)
    with closing(sqlite3.connect(path)) as journal, journal:
        for table, column in (
            ("outbox_dispatches", "hash"),
            ("outbox_steps", "dispatch"),
            ("outbox_versions", "dispatch"),
            ("approvals", "hash"),
        ):
            journal.execute(
                f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (sealed, _UNSEALED)
            )
        if tag:
            journal.execute(
                "UPDATE approvals SET tag = ? WHERE hash = ?", (make_tag(sealed), sealed)
            )
    return sealed


def _write(journal: sqlite3.Connection, draft: Draft, sealed: str) -> None:
    honest = draft.honest_hash
    kept_states = journal.execute(
        "SELECT safe_state, state, changed_at FROM outbox_steps WHERE dispatch = ?"
        " ORDER BY position",
        (honest,),
    ).fetchall()
    journal.execute("DELETE FROM outbox_steps WHERE dispatch = ?", (honest,))
    journal.execute(
        "UPDATE outbox_dispatches SET hash = ?, sender = ?, chain_id = ? WHERE hash = ?",
        (sealed, draft.steps[0].sender, draft.steps[0].chain_id, honest)
        if draft.steps
        else (sealed, "0x" + "00" * 20, 0, honest),
    )
    journal.execute(
        "UPDATE approvals SET hash = ?, given_at = ?, plan_id = ?, terms = ? WHERE hash = ?",
        (sealed, _given_at(draft), _plan_id(draft), json.dumps(draft.terms), honest),
    )
    for place, (step, deadline) in enumerate(zip(draft.steps, draft.deadlines, strict=True)):
        safe_state, state, changed_at = kept_states[min(place, len(kept_states) - 1)]
        journal.execute(
            "UPDATE outbox_versions SET dispatch = ?, unsigned = ?"
            " WHERE dispatch = ? AND position = ?",
            (sealed, unsigned_to_text(step), honest, place),
        )
        journal.execute(
            "INSERT INTO outbox_steps (dispatch, position, nonce, unsigned, safe_state, deadline,"
            " state, reason, settled, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, '', 0, ?)",
            (
                sealed,
                place,
                step.nonce,
                unsigned_to_text(step),
                safe_state,
                deadline,
                state,
                changed_at,
            ),
        )


def _given_at(draft: Draft) -> float:
    """As the forged terms have it, so that row and terms agree."""
    try:
        return float(draft.terms["bounds"]["expires_at"]) - APPROVAL_SECONDS
    except (KeyError, TypeError, ValueError):
        return 0.0


def _plan_id(draft: Draft) -> str:
    return str(draft.terms.get("planId", draft.plan_id))


def _sealed(path: Path) -> str:
    """The hash that makes everything consistent; any where the bytes cannot be read."""
    with Outbox.open(path) as outbox:
        approval = read_approval(outbox, _UNSEALED)
        if approval is None:
            return "a" * 64
        try:
            return seal_again(outbox.dispatch(_UNSEALED), approval.terms)
        except DecodingError:
            return "a" * 64


class KeptJournal:
    """A copy of a journal that can be put back however often it was changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._copy = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(path)) as journal:
            journal.backup(self._copy)

    def put_back(self) -> None:
        """Page by page inside the file, so that whoever has it open sees it."""
        with closing(sqlite3.connect(self.path)) as journal:
            self._copy.backup(journal)

    def close(self) -> None:
        self._copy.close()


def _read(data: bytes) -> Call | None:
    try:
        return decode_call(data)
    except DecodingError:
        return None


def _all_records(record: Any) -> Iterator[Any]:
    if isinstance(record, tuple) and not hasattr(record, "_fields"):
        for one in record:
            yield from _all_records(one)
    elif isinstance(record, Struct):
        yield record
        for value in asdict(record).values():
            yield from _all_records(value)


def _rewritten(record: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(record, tuple) and not hasattr(record, "_fields"):
        return tuple(_rewritten(one, change) for one in record)
    if not isinstance(record, Struct):
        return record
    changed = change(record)
    if changed is not record:
        return changed
    inner = {name: _rewritten(value, change) for name, value in asdict(record).items()}
    return replace(record, **inner)
