"""The one store of approvals: a hash, a single use, ten minutes, whoever acts on it."""

import json
import sqlite3
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from chain.base.units import APPROVAL_SECONDS
from chain.execution.outbox.journal import OutboxError


class ActKind(StrEnum):
    """What an approval lets happen."""

    PLAN = "plan"
    REPLACEMENT = "replacement"
    """A dearer version of a transaction that waits."""
    TRADE = "trade"
    ORDER = "order"
    SAFE = "safe"
    """One owner's signature of a Safe's transaction."""


class GivenApproval(Struct, frozen=True):
    hash: str
    """Over the bytes it lets be signed or sent, and what they were judged by."""
    kind: ActKind
    plan_id: str
    given_at: float
    """By the clock that its age is judged by: the network's, of a trade the wall's."""
    terms: Mapping[str, object] = field(default_factory=dict)
    """What it was judged by; of an act that the journal keeps no bytes of, those as well."""
    tag: str = ""
    """Made with a key outside the home; empty where an earlier version gave it."""
    used_at: float | None = None

    @property
    def expires_at(self) -> float:
        return self.given_at + APPROVAL_SECONDS

    def is_over(self, now: float) -> bool:
        """Also where the clock stands before the hour it was given at."""
        return now >= self.expires_at or now < self.given_at - _CLOCK_SLACK


_CLOCK_SLACK = 60
"""Seconds that a node's clock may be behind."""


def give_approval(journal: sqlite3.Connection, given: GivenApproval) -> None:
    """The newest of a plan; given again it lasts anew, unless it was used."""
    known = read_approval(journal, given.hash)
    if known is not None and known.used_at is not None:
        raise OutboxError(
            "This was approved before, and an approval is used once.", "Build it again."
        )
    journal.execute(
        "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, NULL)",
        (
            given.hash,
            given.kind,
            given.plan_id,
            given.given_at,
            json.dumps(given.terms),
            given.tag,
        ),
    )


def use_approval(journal: sqlite3.Connection, approval: str, now: float) -> None:
    """Of any number of callers exactly one gets past here, and none too late."""
    given = read_approval(journal, approval)
    if given is None:
        raise OutboxError("This was never approved.", "Approve it first: zuno approve P")
    if given.used_at is not None:
        raise OutboxError(
            "This approval was used already. Nothing was sent now.", "See what it did: zuno outbox"
        )
    if now >= given.expires_at:
        raise OutboxError(
            "This approval is older than ten minutes. Nothing was sent.",
            "Approve it again: zuno approve P",
        )
    journal.execute("UPDATE approvals SET used_at = ? WHERE hash = ?", (now, approval))


def return_approval(journal: sqlite3.Connection, approval: str) -> None:
    journal.execute("UPDATE approvals SET used_at = NULL WHERE hash = ?", (approval,))


def read_approval(journal: sqlite3.Connection, approval: str) -> GivenApproval | None:
    row = journal.execute("SELECT * FROM approvals WHERE hash = ?", (approval,)).fetchone()
    return None if row is None else _given(row)


def newest_approval(
    journal: sqlite3.Connection, kind: ActKind, plan_id: str | None
) -> GivenApproval | None:
    """Of a plan, or of all of a kind: the only one of them that can be applied."""
    row = journal.execute(
        "SELECT * FROM approvals WHERE kind = ? AND (? IS NULL OR plan_id = ?)"
        " ORDER BY rowid DESC LIMIT 1",
        (kind, plan_id, plan_id),
    ).fetchone()
    return None if row is None else _given(row)


def unused_approvals(journal: sqlite3.Connection) -> tuple[GivenApproval, ...]:
    rows = journal.execute("SELECT * FROM approvals WHERE used_at IS NULL ORDER BY rowid")
    return tuple(map(_given, rows))


def _given(row: tuple[str, str, str, float, str, str, float | None]) -> GivenApproval:
    approval, kind, plan_id, given_at, terms, tag, used_at = row
    try:
        document = json.loads(terms)
    except ValueError:
        document = None
    known = document if isinstance(document, dict) else {}
    return GivenApproval(approval, ActKind(kind), plan_id, given_at, known, tag, used_at)
