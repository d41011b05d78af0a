"""The journal: its file refused when damaged, its tables changed in transactions."""

import errno
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from chain.base.errors import Failure, ZunoError
from chain.base.home import locked_if_free, sync_folder
from chain.base.sqlite import connect, make_durable, transaction
from chain.base.store import TABLE
from chain.base.units import APPROVAL_SECONDS
from chain.execution.outbox.records import (
    NEXT_STATES,
    Anchor,
    Dispatch,
    DispatchChange,
    EndCode,
    Inclusion,
    PlanEnd,
    PlanStep,
    StepState,
    Version,
    VersionKind,
)
from chain.execution.transaction import Authorization, SignedTransaction, UnsignedTransaction

JOURNAL_VERSION = 4

_VERSIONS_TABLE = """
    CREATE TABLE IF NOT EXISTS outbox_versions (
        hash TEXT NOT NULL,
        dispatch TEXT NOT NULL,
        position INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        kind TEXT NOT NULL,
        unsigned TEXT NOT NULL,
        raw BLOB NOT NULL,
        signed_at REAL NOT NULL,
        sent_at REAL,
        PRIMARY KEY (dispatch, position, ordinal),
        UNIQUE (dispatch, position, hash),
        FOREIGN KEY (dispatch, position) REFERENCES outbox_steps (dispatch, position)
    ) WITHOUT ROWID
    """

_APPROVALS_TABLE = """
    CREATE TABLE IF NOT EXISTS approvals (
        hash TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        plan_id TEXT NOT NULL,
        given_at REAL NOT NULL,
        terms TEXT NOT NULL,
        tag TEXT NOT NULL,
        used_at REAL
    )
    """

_SCHEMA = (
    TABLE,
    "CREATE TABLE IF NOT EXISTS outbox_version (version INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS outbox_dispatches (
        hash TEXT PRIMARY KEY,
        plan_id TEXT NOT NULL,
        chain_id INTEGER NOT NULL,
        sender TEXT NOT NULL,
        anchor_number INTEGER NOT NULL,
        anchor_hash TEXT NOT NULL,
        private_host TEXT,
        planned_at REAL NOT NULL,
        resolved_at REAL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_steps (
        dispatch TEXT NOT NULL REFERENCES outbox_dispatches (hash),
        position INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        unsigned TEXT NOT NULL,
        safe_state TEXT NOT NULL,
        deadline INTEGER,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        settled INTEGER NOT NULL,
        included_hash TEXT,
        block_number INTEGER,
        block_hash TEXT,
        changed_at REAL NOT NULL,
        PRIMARY KEY (dispatch, position)
    ) WITHOUT ROWID
    """,
    _VERSIONS_TABLE,
    _APPROVALS_TABLE,
    """
    CREATE TABLE IF NOT EXISTS outbox_history (
        id INTEGER PRIMARY KEY,
        dispatch TEXT NOT NULL,
        position INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_ends (
        dispatch TEXT PRIMARY KEY REFERENCES outbox_dispatches (hash),
        code TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS outbox_heads (
        chain_id INTEGER NOT NULL,
        genesis TEXT NOT NULL,
        number INTEGER NOT NULL,
        hash TEXT NOT NULL,
        seen_at REAL NOT NULL,
        PRIMARY KEY (chain_id, genesis)
    ) WITHOUT ROWID
    """,
)


_MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        # One hash may stand in two plans since then: equal bytes are equal transactions.
        "ALTER TABLE outbox_versions RENAME TO outbox_versions_2",
        _VERSIONS_TABLE,
        "INSERT INTO outbox_versions SELECT hash, dispatch, position, ordinal, kind, unsigned,"
        " raw, signed_at, sent_at FROM outbox_versions_2",
        "DROP TABLE outbox_versions_2",
    ),
    3: (
        # Without a tag: what was used stays known, what was not must be approved again.
        TABLE,
        _APPROVALS_TABLE,
        "INSERT INTO approvals SELECT a.hash,"
        " CASE WHEN a.hash = a.dispatch THEN 'plan' ELSE 'replacement' END, d.plan_id,"
        " a.approved_at, coalesce((SELECT value FROM remembered"
        " WHERE namespace = 'approvals' AND key = a.hash), 'null'), '', a.consumed_at"
        " FROM outbox_approvals a JOIN outbox_dispatches d ON d.hash = a.dispatch"
        " ORDER BY a.approved_at",
        "DROP TABLE outbox_approvals",
        "DELETE FROM remembered"
        " WHERE namespace IN ('approvals', 'approved-plans', 'approval-tags')",
    ),
}
"""By the version they begin with, what makes the next one of it."""


class OutboxError(ZunoError):
    """The journal refuses or cannot be used; a sentence and a next step."""

    failure = Failure.REFUSED

    def __init__(self, sentence: str, next_step: str = "") -> None:
        super().__init__(f"{sentence}\n{next_step}" if next_step else sentence)
        self.sentence = sentence
        self.next_step = next_step


def journal_in_memory() -> sqlite3.Connection:
    connection = connect(":memory:")
    prepare(connection)
    return connection


@contextmanager
def one_transaction(
    connection: sqlite3.Connection, *, may_have_sent: bool = True
) -> Iterator[sqlite3.Connection]:
    """All of it or nothing, and nobody else in between.

    `may_have_sent` is whether anything of the plan may have been signed before: what is written
    then may be about a transaction that a node has.
    """
    try:
        with transaction(connection):
            yield connection
    except sqlite3.Error as error:
        outcome = "It may have been sent." if may_have_sent else "Nothing was sent."
        raise OutboxError(
            f"The journal could not be written: {error}. {outcome}",
            "Free some disk space or close the other zuno, then check: zuno outbox",
        ) from error


def read_dispatch(connection: sqlite3.Connection, dispatch_hash: str) -> Dispatch | None:
    row = connection.execute(
        "SELECT d.plan_id, d.chain_id, d.sender, d.anchor_number, d.anchor_hash,"
        " d.private_host, d.planned_at, a.given_at, a.used_at, d.resolved_at, e.code, e.at"
        " FROM outbox_dispatches d"
        " LEFT JOIN approvals a ON a.hash = d.hash"
        " LEFT JOIN outbox_ends e ON e.dispatch = d.hash WHERE d.hash = ?",
        (dispatch_hash,),
    ).fetchone()
    if row is None:
        return None
    plan_id, chain_id, sender, number, block_hash, host, planned, given, used, done = row[:10]
    code, ended_at = row[10:]
    return Dispatch(
        hash=dispatch_hash,
        plan_id=plan_id,
        chain_id=chain_id,
        sender=sender,
        anchor=Anchor(number, block_hash),
        private_host=host,
        planned_at=planned,
        expires_at=None if given is None else given + APPROVAL_SECONDS,
        consumed_at=used,
        resolved_at=done,
        ended=None if code is None else PlanEnd(EndCode(code), ended_at),
        steps=_read_steps(connection, dispatch_hash),
    )


def read_history(connection: sqlite3.Connection, dispatch_hash: str) -> tuple[DispatchChange, ...]:
    rows = connection.execute(
        "SELECT position, state, reason, at FROM outbox_history WHERE dispatch = ? ORDER BY id",
        (dispatch_hash,),
    )
    return tuple(
        DispatchChange(position, StepState(state), reason, at)
        for position, state, reason, at in rows
    )


def unsigned_to_text(transaction: UnsignedTransaction) -> str:
    fields: dict[str, object] = {
        "chainId": transaction.chain_id,
        "from": transaction.sender,
        "to": transaction.to,
        # Wei can be more than other readers of JSON hold in a number.
        "value": str(transaction.value),
        "data": transaction.data.hex(),
        "gas": transaction.gas,
        "maxFeePerGas": str(transaction.max_fee_per_gas),
        "maxPriorityFeePerGas": str(transaction.max_priority_fee_per_gas),
        "nonce": transaction.nonce,
        "step": transaction.step,
    }
    given = transaction.authorization
    if given is not None:
        lent = [given.chain_id, given.delegate, given.nonce]
        fields["authorization"] = [*lent, given.lender] if given.lender else lent
    return json.dumps(fields)


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where they are missing; refuse those of another version."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    with transaction(connection):
        for statement in _SCHEMA:
            connection.execute(statement)
        row = connection.execute("SELECT version FROM outbox_version").fetchone()
        if row is None:
            connection.execute("INSERT INTO outbox_version VALUES (?)", (JOURNAL_VERSION,))


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate a journal of an older version, and keep a copy that the older version opens."""
    version = _written_version(connection)
    if version is None or version == JOURNAL_VERSION:
        return
    if version > JOURNAL_VERSION:
        raise OutboxError(
            f"The journal in {path} was written by a newer zuno: its version is {version}, and "
            f"this one reads up to {JOURNAL_VERSION}.",
            "Use the newer zuno, or a home of its own: --home DIR",
        )
    if version not in _MIGRATIONS:
        raise OutboxError(
            f"The journal in {path} was written by an older zuno: its version is {version}, and "
            f"this one migrates from {min(_MIGRATIONS)} on.",
            "Look at it with the version that wrote it, or use a home of its own: --home DIR",
        )
    _keep_copy(connection, path.with_name(f"{path.name}.v{version}"))
    with transaction(connection):
        # Another process may have done it while this one waited.
        while (at := _written_version(connection)) in _MIGRATIONS:
            for statement in _MIGRATIONS[at]:
                connection.execute(statement)
            connection.execute("UPDATE outbox_version SET version = ?", (at + 1,))


def _written_version(connection: sqlite3.Connection) -> int | None:
    """None in a file that was begun and not written yet."""
    known = "SELECT 1 FROM sqlite_master WHERE name = 'outbox_version'"
    if connection.execute(known).fetchone() is None:
        return None
    rows = connection.execute("SELECT version FROM outbox_version")
    return next((version for (version,) in rows), None)


def _keep_copy(connection: sqlite3.Connection, path: Path) -> None:
    if path.exists():
        return
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    with closing(connect(unfinished)) as copy:
        connection.backup(copy)
    unfinished.replace(path)


def _read_steps(connection: sqlite3.Connection, dispatch_hash: str) -> tuple[PlanStep, ...]:
    rows = connection.execute(
        "SELECT position, unsigned, safe_state, deadline, state, reason, settled, included_hash,"
        " block_number, block_hash, changed_at FROM outbox_steps WHERE dispatch = ?"
        " ORDER BY position",
        (dispatch_hash,),
    ).fetchall()
    included = _ever_included(connection, dispatch_hash)
    return tuple(
        PlanStep(
            dispatch=dispatch_hash,
            position=position,
            transaction=_unsigned_from_text(unsigned),
            safe_state=safe_state,
            deadline=deadline,
            state=StepState(state),
            reason=reason,
            settled=bool(settled),
            inclusion=None if in_block is None else Inclusion(in_block, number, block_hash),
            changed_at=changed_at,
            versions=_read_versions(connection, dispatch_hash, position),
            was_included=position in included,
        )
        for (
            position,
            unsigned,
            safe_state,
            deadline,
            state,
            reason,
            settled,
            in_block,
            number,
            block_hash,
            changed_at,
        ) in rows
    )


def _ever_included(connection: sqlite3.Connection, dispatch_hash: str) -> frozenset[int]:
    """The steps that a block held at some time, whether it still does or not."""
    # What is final was included before.
    rows = connection.execute(
        "SELECT DISTINCT position FROM outbox_history WHERE dispatch = ? AND state IN (?, ?)",
        (dispatch_hash, StepState.INCLUDED, StepState.REVERTED),
    )
    return frozenset(position for (position,) in rows)


def _read_versions(
    connection: sqlite3.Connection, dispatch_hash: str, position: int
) -> tuple[Version, ...]:
    rows = connection.execute(
        "SELECT kind, unsigned, raw, hash, signed_at, sent_at FROM outbox_versions"
        " WHERE dispatch = ? AND position = ? ORDER BY ordinal",
        (dispatch_hash, position),
    )
    return tuple(
        Version(
            kind=VersionKind(kind),
            transaction=SignedTransaction(_unsigned_from_text(unsigned), raw, transaction_hash),
            signed_at=signed_at,
            sent_at=sent_at,
        )
        for kind, unsigned, raw, transaction_hash, signed_at, sent_at in rows
    )


def _unsigned_from_text(text: str) -> UnsignedTransaction:
    fields = json.loads(text)
    return UnsignedTransaction(
        chain_id=fields["chainId"],
        sender=fields["from"],
        to=fields["to"],
        value=int(fields["value"]),
        data=bytes.fromhex(fields["data"]),
        gas=fields["gas"],
        max_fee_per_gas=int(fields["maxFeePerGas"]),
        max_priority_fee_per_gas=int(fields["maxPriorityFeePerGas"]),
        nonce=fields["nonce"],
        step=fields["step"],
        authorization=Authorization(*given) if (given := fields.get("authorization")) else None,
    )


NEVER_SIGNED = frozenset((StepState.PLANNED, StepState.APPROVED))


def known_dispatch(journal: sqlite3.Connection, dispatch_hash: str) -> Dispatch:
    found = read_dispatch(journal, dispatch_hash)
    if found is None:
        raise OutboxError(
            f"Nothing with the hash {dispatch_hash} is in the outbox.", "See what is: zuno outbox"
        )
    return found


def move_step(
    journal: sqlite3.Connection,
    step: PlanStep,
    state: StepState,
    *,
    now: float,
    reason: str = "",
    inclusion: Inclusion | None = None,
    settled: bool = False,
) -> None:
    if step.settled or state not in NEXT_STATES[step.state]:
        raise OutboxError(f"{step.title} is {step.state} and cannot become {state}.")
    included = (
        (inclusion.transaction_hash, inclusion.block_number, inclusion.block_hash)
        if inclusion
        else (None, None, None)
    )
    journal.execute(
        "UPDATE outbox_steps SET state = ?, reason = ?, included_hash = ?, block_number = ?,"
        " block_hash = ?, changed_at = ?, settled = ? WHERE dispatch = ? AND position = ?",
        (state, reason, *included, now, settled, step.dispatch, step.position),
    )
    remember(journal, step.dispatch, step.position, state, reason=reason, now=now)


def remember(
    journal: sqlite3.Connection,
    dispatch_hash: str,
    position: int,
    state: StepState,
    *,
    reason: str = "",
    now: float,
) -> None:
    journal.execute(
        "INSERT INTO outbox_history (dispatch, position, state, reason, at) VALUES (?, ?, ?, ?, ?)",
        (dispatch_hash, position, state, reason, now),
    )


def add_version(
    journal: sqlite3.Connection,
    step: PlanStep,
    kind: VersionKind,
    signed: SignedTransaction,
    now: float,
) -> None:
    journal.execute(
        "INSERT INTO outbox_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        (
            signed.hash,
            step.dispatch,
            step.position,
            len(step.versions),
            kind,
            unsigned_to_text(signed.unsigned),
            signed.raw,
            now,
        ),
    )


def discard_unsigned(
    journal: sqlite3.Connection, dispatch: Dispatch, *, now: float, reason: str
) -> None:
    """Give up every step that was never signed; what was signed is untouched."""
    for step in dispatch.steps:
        if step.state in NEVER_SIGNED:
            move_step(journal, step, StepState.DISCARDED, now=now, reason=reason, settled=True)


def end_plan(journal: sqlite3.Connection, dispatch: Dispatch, code: EndCode, *, now: float) -> None:
    """Write down that nothing of it is sent again; the first reason stands."""
    if dispatch.ended is not None:
        return
    journal.execute("INSERT INTO outbox_ends VALUES (?, ?, ?)", (dispatch.hash, code, now))
    discard_unsigned(journal, dispatch, now=now, reason=code)


def void_signed(
    journal: sqlite3.Connection, dispatch: Dispatch, *, now: float, reason: str
) -> None:
    """What was signed for a chain that is no more: no node has it, and none ever gets it.

    What was not signed has been given up before.
    """
    for step in dispatch.steps:
        if not step.settled:
            move_step(journal, step, StepState.DROPPED, now=now, reason=reason, settled=True)


# It is never set aside and begun anew: it may hold the only copy of signed bytes.
def hold_apply_lock(database: Path) -> AbstractContextManager[bool]:
    """Whether we are the only process applying on this home, for as long as the block lasts.

    An approved step that nobody signs is either about to be signed by a living process, or was
    left by a dead one; only whoever holds this lock may tell them apart and discard it.
    """
    return locked_if_free(database.with_name(database.name + ".applying"))


_WAY_ON = (
    "What was sent is written there, so it is left as it is. Put a good copy in its place; or, "
    "when nothing of this wallet waits for a block, move the file away yourself and go on."
)


def open_journal(path: Path) -> sqlite3.Connection:
    """Open or begin the journal; every commit is on disk before it returns."""
    try:
        if not path.exists() and not path.is_symlink():
            _begin(path)
        size = _size(path)
        connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise OutboxError(
            f"The journal in {path} cannot be opened: {error}.", "Choose another: --home DIR"
        ) from error
    try:
        # sqlite would take a file that was cut to nothing for a new one.
        if not size:
            raise _damaged(path, "it is empty")
        make_durable(connection)
        [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _damaged(path, verdict)
        _bring_up_to_date(connection, path)
        prepare(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        raise OutboxError(
            f"The journal in {path} cannot be used now: {error}. Nothing is signed without it.",
            "Close the other zuno, or free some disk space, and try again.",
        ) from error
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _damaged(path, str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def read_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Several reads that see one moment, whatever other processes write."""
    try:
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OutboxError(
            f"The journal cannot be read: {error}. Nothing is signed without it.", _WAY_ON
        ) from error


def _begin(path: Path) -> None:
    """A journal appears under its name only when it is whole, whoever else begins one meanwhile."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    begun = Path(temporary)
    try:
        connection = connect(begun)
        try:
            prepare(connection)
        finally:
            connection.close()
        os.link(begun, path)
    except FileExistsError:
        return
    finally:
        begun.unlink()
    sync_folder(path.parent)


def _size(path: Path) -> int:
    """Of the file itself, never of one it leads to; asked without opening it.

    Closing a descriptor of the journal would drop the locks of whoever applies in this process.
    """
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found.st_size


def _damaged(path: Path, why: str) -> OutboxError:
    return OutboxError(
        f"The journal in {path} is damaged: {why}. Nothing is signed without it.", _WAY_ON
    )
