"""The outbox: every change of a plan's transactions, each written whole before the next is made."""

import sqlite3
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Self

from chain.base.store import Store
from chain.execution.outbox import rules
from chain.execution.outbox.approvals import (
    ActKind,
    GivenApproval,
    give_approval,
    newest_approval,
    read_approval,
    return_approval,
    unused_approvals,
    use_approval,
)
from chain.execution.outbox.heads import Genesis, Head, begin_heads_again, highest_head, raise_head
from chain.execution.outbox.journal import (
    OutboxError,
    add_version,
    discard_unsigned,
    end_plan,
    hold_apply_lock,
    journal_in_memory,
    known_dispatch,
    move_step,
    one_transaction,
    open_journal,
    read_history,
    read_one_moment,
    remember,
    unsigned_to_text,
    void_signed,
)
from chain.execution.outbox.records import (
    Dispatch,
    DispatchChange,
    Doubt,
    EndCode,
    Inclusion,
    PlannedDispatch,
    PlanStep,
    StepState,
    VersionKind,
)
from chain.execution.transaction import SignedTransaction, UnsignedTransaction


class Outbox:
    """One connection to the journal; any number of processes may each hold one."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None = None) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        return cls(open_journal(path), path)

    @classmethod
    def in_memory(cls) -> Self:
        return cls(journal_in_memory())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def store(self) -> Store:
        """What must last as long as the journal does, in the same file."""
        return Store(self._connection)

    def hold_apply_lock(self) -> AbstractContextManager[bool]:
        """Whether nobody else is applying a plan, for as long as the block lasts."""
        return nullcontext(True) if self._path is None else hold_apply_lock(self._path)

    def dispatch(self, dispatch_hash: str) -> Dispatch:
        with read_one_moment(self._connection):
            return self._dispatch(dispatch_hash)

    def dispatches(self) -> tuple[Dispatch, ...]:
        """Everything the journal holds, oldest first."""
        with read_one_moment(self._connection):
            rows = self._connection.execute(
                "SELECT hash FROM outbox_dispatches ORDER BY planned_at, hash"
            ).fetchall()
            return tuple(self._dispatch(dispatch_hash) for (dispatch_hash,) in rows)

    def unresolved_dispatches(self) -> tuple[Dispatch, ...]:
        """What was applied and is not settled, or was left half done."""
        return tuple(item for item in self.dispatches() if item.needs_attention)

    def history(self, dispatch_hash: str) -> tuple[DispatchChange, ...]:
        with read_one_moment(self._connection):
            return read_history(self._connection, dispatch_hash)

    def plan(self, planned: PlannedDispatch, *, now: float) -> Dispatch:
        """Write down a plan's transactions; writing the same ones again changes nothing."""
        rules.check_plan(planned)
        with one_transaction(self._connection, may_have_sent=False) as journal:
            inserted = journal.execute(
                "INSERT INTO outbox_dispatches VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)"
                " ON CONFLICT (hash) DO NOTHING",
                (
                    planned.hash,
                    planned.plan_id,
                    planned.chain_id,
                    planned.sender,
                    planned.anchor.number,
                    planned.anchor.hash,
                    planned.private_host,
                    now,
                ),
            ).rowcount
            if not inserted:
                return self._dispatch(planned.hash)
            for position, step in enumerate(planned.steps):
                journal.execute(
                    "INSERT INTO outbox_steps VALUES"
                    " (?, ?, ?, ?, ?, ?, ?, '', 0, NULL, NULL, NULL, ?)",
                    (
                        planned.hash,
                        position,
                        step.transaction.nonce,
                        unsigned_to_text(step.transaction),
                        step.safe_state,
                        step.deadline,
                        StepState.PLANNED,
                        now,
                    ),
                )
                remember(journal, planned.hash, position, StepState.PLANNED, now=now)
            return self._dispatch(planned.hash)

    def give(self, given: GivenApproval) -> None:
        """Let what this hash is over happen once, within ten minutes."""
        with one_transaction(self._connection, may_have_sent=False):
            give_approval(self._connection, given)

    def use(self, approval: str, *, now: float) -> None:
        """Use an approval up; of any number of callers exactly one gets past here."""
        with one_transaction(self._connection, may_have_sent=False):
            use_approval(self._connection, approval, now)

    def find_given(self, approval: str) -> GivenApproval | None:
        with read_one_moment(self._connection):
            return read_approval(self._connection, approval)

    def newest_given(self, kind: ActKind, plan_id: str | None) -> GivenApproval | None:
        with read_one_moment(self._connection):
            return newest_approval(self._connection, kind, plan_id)

    def unused_approvals(self) -> tuple[GivenApproval, ...]:
        with read_one_moment(self._connection):
            return unused_approvals(self._connection)

    def approve(
        self, dispatch_hash: str, *, now: float, given: GivenApproval | None = None
    ) -> Dispatch:
        """Let this hash be applied once, within ten minutes."""
        with one_transaction(self._connection, may_have_sent=False):
            dispatch = self._dispatch(dispatch_hash)
            plain = GivenApproval(dispatch_hash, ActKind.PLAN, dispatch.plan_id, now)
            give_approval(self._connection, given or plain)
            for step in dispatch.steps:
                # Approved within one block, and cut off before anything came of it.
                if step.state is not StepState.APPROVED:
                    move_step(self._connection, step, StepState.APPROVED, now=now)
            return self._dispatch(dispatch_hash)

    def consume(self, dispatch_hash: str, *, now: float) -> Dispatch:
        """Spend the approval; of any number of callers exactly one gets past here."""
        with one_transaction(self._connection, may_have_sent=False):
            dispatch = self._dispatch(dispatch_hash)
            rules.check_not_over(dispatch)
            use_approval(self._connection, dispatch_hash, now)
            rules.check_unspent(dispatch, self._siblings(dispatch))
            return self._dispatch(dispatch_hash)

    def give_back(self, dispatch_hash: str) -> None:
        """Nothing of it was signed: the approval counts on, as long as it was given for."""
        with one_transaction(self._connection) as journal:
            dispatch = self._dispatch(dispatch_hash)
            if any(step.versions for step in dispatch.steps):
                raise OutboxError("A part of it is signed.", "See what it did: zuno outbox")
            return_approval(journal, dispatch_hash)

    def record_signed(
        self, dispatch_hash: str, position: int, signed: SignedTransaction, *, now: float
    ) -> PlanStep:
        """Put the first signed bytes of a step on disk; only then may they be sent."""
        rules.check_signature(signed)
        # An earlier step may be on its way; this one is not sent before it is written down.
        with one_transaction(self._connection, may_have_sent=position > 0):
            dispatch = self._dispatch(dispatch_hash)
            rules.check_not_over(dispatch)
            rules.check_can_sign(dispatch, position, signed)
            if position == 0:
                # Two approvals of one plan may be used before either of them is signed.
                rules.check_no_other_effect(dispatch, self._siblings(dispatch))
            rules.claim_nonce(self._connection, dispatch, position)
            step = dispatch.steps[position]
            add_version(self._connection, step, VersionKind.ORIGINAL, signed, now)
            move_step(self._connection, step, StepState.SIGNED, now=now)
            return self._step(dispatch_hash, position)

    def approve_replacement(
        self, dispatch_hash: str, position: int, unsigned: UnsignedTransaction, *, now: float
    ) -> None:
        """Let one dearer version of a step be signed once, within ten minutes."""
        with one_transaction(self._connection):
            self._check_replaceable(dispatch_hash, position, unsigned)
            plan_id = self._dispatch(dispatch_hash).plan_id
            given = GivenApproval(unsigned.digest, ActKind.REPLACEMENT, plan_id, now)
            give_approval(self._connection, given)

    def consume_replacement(
        self, dispatch_hash: str, position: int, unsigned: UnsignedTransaction, *, now: float
    ) -> None:
        """Spend the approval of a dearer version; only then may it be signed."""
        with one_transaction(self._connection):
            self._check_replaceable(dispatch_hash, position, unsigned)
            use_approval(self._connection, unsigned.digest, now)

    def record_replacement(
        self, dispatch_hash: str, position: int, signed: SignedTransaction, *, now: float
    ) -> PlanStep:
        """Put a dearer version with the same nonce on disk."""
        rules.check_signature(signed)
        with one_transaction(self._connection):
            dispatch = self._dispatch(dispatch_hash)
            step = dispatch.steps[position]
            kind = self._check_replaceable(dispatch_hash, position, signed.unsigned)
            rules.check_used(self._connection, signed.unsigned.digest)
            rules.claim_nonce(self._connection, dispatch, position)
            add_version(self._connection, step, kind, signed, now)
            reason = f"{kind} signed"
            move_step(self._connection, step, StepState.SIGNED, now=now, reason=reason)
            return self._step(dispatch_hash, position)

    def mark_sent(
        self, step: PlanStep, transaction_hash: str, *, now: float, reason: str = ""
    ) -> PlanStep:
        """A node has it, or may have it."""
        with one_transaction(self._connection) as journal:
            journal.execute(
                "UPDATE outbox_versions SET sent_at = coalesce(sent_at, ?)"
                " WHERE hash = ? AND dispatch = ? AND position = ?",
                (now, transaction_hash, step.dispatch, step.position),
            )
            return self._moved(step, StepState.SENT, now=now, reason=reason)

    def mark_included(
        self, step: PlanStep, inclusion: Inclusion, *, succeeded: bool, now: float
    ) -> PlanStep:
        """One of its versions is in a block: as planned, in vain, or as its cancellation."""
        version = step.version_of(inclusion.transaction_hash)
        if version is None:
            raise OutboxError(f"{inclusion.transaction_hash} is no version of {step.title}.")
        state, reason = StepState.INCLUDED, ""
        if version.kind is VersionKind.CANCEL:
            state, reason = StepState.REPLACED, "cancelled"
        elif not succeeded:
            state, reason = StepState.REVERTED, "the chain ran it and it reverted"
        with one_transaction(self._connection):
            return self._moved(step, state, now=now, reason=reason, inclusion=inclusion)

    def mark_replaced(self, step: PlanStep, *, now: float, reason: str) -> PlanStep:
        with one_transaction(self._connection):
            return self._moved(step, StepState.REPLACED, now=now, reason=reason)

    def mark_dropped(self, step: PlanStep, *, now: float, reason: str) -> PlanStep:
        with one_transaction(self._connection):
            return self._moved(step, StepState.DROPPED, now=now, reason=reason)

    def mark_unclear(self, step: PlanStep, doubt: Doubt, *, now: float) -> PlanStep:
        """What is seen of it is not vouched for; the time stays that of the first such sight."""
        with one_transaction(self._connection):
            return self._moved(step, StepState.UNCLEAR, now=now, reason=doubt)

    def settle(self, step: PlanStep, *, now: float) -> PlanStep:
        """The block that decided it is final: an included step becomes final, others stay."""
        with one_transaction(self._connection) as journal:
            current = self._step(step.dispatch, step.position)
            if current.settled or _observation(current) != _observation(step):
                return current
            if current.state is StepState.INCLUDED:
                inclusion = current.inclusion
                move_step(journal, current, StepState.FINAL, now=now, inclusion=inclusion)
            journal.execute(
                "UPDATE outbox_steps SET settled = 1 WHERE dispatch = ? AND position = ?",
                (step.dispatch, step.position),
            )
            return self._step(step.dispatch, step.position)

    def discard_unsigned(self, dispatch_hash: str, *, now: float, reason: str) -> Dispatch:
        """Give up every step that was never signed; what was signed is untouched."""
        with one_transaction(self._connection) as journal:
            discard_unsigned(journal, self._dispatch(dispatch_hash), now=now, reason=reason)
            return self._dispatch(dispatch_hash)

    def end(self, dispatch_hash: str, code: EndCode, *, now: float) -> Dispatch:
        """The plan is over: nothing of it is signed or sent from here on."""
        with one_transaction(self._connection) as journal:
            dispatch = self._dispatch(dispatch_hash)
            end_plan(journal, dispatch, code, now=now)
            if code is EndCode.CHAIN_RESTARTED:
                void_signed(journal, self._dispatch(dispatch_hash), now=now, reason=code)
            return self._dispatch(dispatch_hash)

    def take_back(self, dispatch_hash: str, *, now: float) -> Dispatch:
        """End an approval that nobody has used, for good; one that was used is left as it is."""
        with one_transaction(self._connection) as journal:
            dispatch = self._dispatch(dispatch_hash)
            if dispatch.consumed_at is not None:
                raise OutboxError("It was applied already.", "See what it did: zuno outbox")
            end_plan(journal, dispatch, EndCode.TAKEN_BACK, now=now)
            return self._dispatch(dispatch_hash)

    def lift_end(self, dispatch_hash: str) -> Dispatch:
        """What it was ended for did not happen; steps that were given up stay given up."""
        with one_transaction(self._connection) as journal:
            journal.execute("DELETE FROM outbox_ends WHERE dispatch = ?", (dispatch_hash,))
            return self._dispatch(dispatch_hash)

    def highest_head(self, chain: Genesis) -> Head | None:
        with read_one_moment(self._connection):
            return highest_head(self._connection, chain)

    def note_head(self, chain: Genesis, head: Head, *, now: float) -> None:
        """A block of this chain was seen; only the highest is kept."""
        if self.highest_head(chain) != head:
            with one_transaction(self._connection) as journal:
                raise_head(journal, chain, head, now)

    def begin_again(
        self, chain: Genesis, head: Head, *, ending: EndCode | None, now: float
    ) -> None:
        """Count heads from this one; with an end, every plan of the chain so far is over."""
        with one_transaction(self._connection) as journal:
            if ending is not None:
                rows = journal.execute(
                    "SELECT hash FROM outbox_dispatches WHERE chain_id = ?", (chain.chain_id,)
                ).fetchall()
                for (dispatch_hash,) in rows:
                    end_plan(journal, self._dispatch(dispatch_hash), ending, now=now)
                    void_signed(journal, self._dispatch(dispatch_hash), now=now, reason=ending)
            begin_heads_again(journal, chain, head, now)

    def resolve(self, dispatch_hash: str, *, now: float) -> Dispatch:
        """The person has dealt with a plan that was left half done."""
        with one_transaction(self._connection) as journal:
            journal.execute(
                "UPDATE outbox_dispatches SET resolved_at = ? WHERE hash = ?", (now, dispatch_hash)
            )
            return self._dispatch(dispatch_hash)

    def _dispatch(self, dispatch_hash: str) -> Dispatch:
        return known_dispatch(self._connection, dispatch_hash)

    def _step(self, dispatch_hash: str, position: int) -> PlanStep:
        return self._dispatch(dispatch_hash).steps[position]

    def _siblings(self, dispatch: Dispatch) -> list[Dispatch]:
        rows = self._connection.execute(
            "SELECT hash FROM outbox_dispatches WHERE plan_id = ? AND hash != ?",
            (dispatch.plan_id, dispatch.hash),
        ).fetchall()
        return [self._dispatch(dispatch_hash) for (dispatch_hash,) in rows]

    def _check_replaceable(
        self, dispatch_hash: str, position: int, unsigned: UnsignedTransaction
    ) -> VersionKind:
        dispatch = self._dispatch(dispatch_hash)
        step = dispatch.steps[position]
        rules.check_can_replace(step)
        kind = rules.check_replacement(step, unsigned)
        # Taking a nonce for nothing undoes no end; the same bytes at a higher fee would.
        if kind is VersionKind.SPEED_UP:
            rules.check_not_over(dispatch)
        return kind

    def _moved(
        self,
        step: PlanStep,
        state: StepState,
        *,
        now: float,
        reason: str,
        inclusion: Inclusion | None = None,
    ) -> PlanStep:
        """Move a step that is still as the caller saw it; what was written since is newer."""
        current = self._step(step.dispatch, step.position)
        if _observation(current) == _observation(step) and not current.settled:
            unchanged = _observation(current)[:2] == (state, inclusion)
            # Sending again does not make why it had to be sent again less true.
            if not unchanged or (state is not StepState.SENT and current.reason != reason):
                move_step(
                    self._connection, current, state, now=now, reason=reason, inclusion=inclusion
                )
            return self._step(step.dispatch, step.position)
        return current


def _observation(step: PlanStep) -> tuple[StepState, Inclusion | None, int]:
    return step.state, step.inclusion, len(step.versions)
