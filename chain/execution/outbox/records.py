"""What the journal holds: a plan's transactions on their way, and how far each of them got."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from chain.contracts.networks import Address
from chain.execution.decode.titles import step_title
from chain.execution.transaction import SignedTransaction, UnsignedTransaction


class StepState(StrEnum):
    PLANNED = "planned"
    APPROVED = "approved"
    SIGNED = "signed"
    """The bytes are on disk and may be anywhere: from here on only the chain knows."""
    SENT = "sent"
    UNCLEAR = "unclear"
    """What one endpoint shows of it is not shown by a second, or has not lasted long enough."""
    INCLUDED = "included"
    FINAL = "final"
    REVERTED = "reverted"
    REPLACED = "replaced"
    """Its nonce went to another transaction, a cancellation or a stranger to this journal."""
    DROPPED = "dropped"
    """No node holds it and its nonce is free; the bytes could still turn up."""
    DISCARDED = "discarded"
    """Never signed, and never will be."""


class Doubt(StrEnum):
    """Why a step is unclear."""

    NO_SECOND_WITNESS = "no second endpoint confirms it"
    NONCE_TAKEN = "its nonce looks taken by another transaction"
    BLOCK_GONE = "the block it was in looks gone"
    OTHER_CHAIN = "the chain looks like another one than it was approved on"


class EndCode(StrEnum):
    """Why a plan is over: nothing of it is ever sent again."""

    CHAIN_RESTARTED = "chain restarted"
    OTHER_CHAIN = "other chain"
    STEP_GONE = "included step gone"
    NONCE_SPENT = "nonce spent elsewhere"
    TAKEN_BACK = "approval taken back"


class VersionKind(StrEnum):
    ORIGINAL = "original"
    SPEED_UP = "speed-up"
    CANCEL = "cancel"


NEXT_STATES: dict[StepState, frozenset[StepState]] = {
    StepState.PLANNED: frozenset((StepState.APPROVED, StepState.DISCARDED)),
    StepState.APPROVED: frozenset((StepState.SIGNED, StepState.DISCARDED)),
    StepState.FINAL: frozenset(),
    StepState.DISCARDED: frozenset(),
} | {
    # What left the desk is wherever the chain says it is, until its nonce is final.
    state: frozenset(
        (
            StepState.SIGNED,
            StepState.SENT,
            StepState.UNCLEAR,
            StepState.INCLUDED,
            StepState.FINAL,
            StepState.REVERTED,
            StepState.REPLACED,
            StepState.DROPPED,
        )
    )
    for state in (
        StepState.SIGNED,
        StepState.SENT,
        StepState.UNCLEAR,
        StepState.INCLUDED,
        StepState.REVERTED,
        StepState.REPLACED,
        StepState.DROPPED,
    )
}

HOLDS_NONCE = frozenset(
    (
        StepState.SIGNED,
        StepState.SENT,
        StepState.UNCLEAR,
        StepState.INCLUDED,
        StepState.FINAL,
        StepState.REVERTED,
    )
)
"""While a step is in one of these, no other step may use its nonce."""

REPLACEABLE = frozenset((StepState.SIGNED, StepState.SENT, StepState.DROPPED))
"""Where a dearer version with the same nonce still makes sense."""

SUCCEEDED = frozenset((StepState.INCLUDED, StepState.FINAL))
STOPPED = frozenset(
    (StepState.REVERTED, StepState.REPLACED, StepState.DROPPED, StepState.DISCARDED)
)
_IN_VAIN = frozenset((StepState.REVERTED, StepState.REPLACED))
"""In a block, and without the effect it was made for."""


class PlannedStep(Struct, frozen=True):
    transaction: UnsignedTransaction
    safe_state: str
    """Where the person stands if everything before this step happened and this step did not."""
    deadline: int | None
    """The last block time at which it may run: its own bytes' deadline, or else its plan's."""


class Anchor(Struct, frozen=True):
    """The block a plan was built on; where it is missing, this is not the chain of the plan."""

    number: int
    hash: str


class PlannedDispatch(Struct, frozen=True):
    """All transactions of one plan, in the order of their nonces."""

    hash: str
    """The hash over everything that was shown; the approval is bound to it."""
    plan_id: str
    anchor: Anchor
    steps: tuple[PlannedStep, ...]
    private_host: str | None = None
    """The private endpoint it is sent through, and through no other; None for the usual ones."""

    @property
    def chain_id(self) -> int:
        return self._first.chain_id

    @property
    def sender(self) -> Address:
        return self._first.sender

    @property
    def _first(self) -> UnsignedTransaction:
        """All of them are of one wallet on one chain."""
        return next(step.transaction for step in self.steps)


class Version(Struct, frozen=True):
    """One signed form of a step; all forms share its nonce, so at most one can have an effect."""

    kind: VersionKind
    transaction: SignedTransaction
    signed_at: float
    sent_at: float | None


class Inclusion(Struct, frozen=True):
    transaction_hash: str
    block_number: int
    block_hash: str


class PlanEnd(NamedTuple):
    code: EndCode
    at: float


class PlanStep(Struct, frozen=True):
    dispatch: str
    position: int
    transaction: UnsignedTransaction
    safe_state: str
    deadline: int | None
    state: StepState
    reason: str
    """Why it is in this state, where that is not plain."""
    settled: bool
    """Whether nothing can change the state any more."""
    inclusion: Inclusion | None
    changed_at: float
    versions: tuple[Version, ...]
    was_included: bool
    """Whether a block ever held it, even one that is gone since."""

    @property
    def name(self) -> str:
        """As journals and JSON keep it; people read its title."""
        return self.transaction.step

    @property
    def title(self) -> str:
        return step_title(self.transaction)

    @property
    def newest(self) -> Version | None:
        return self.versions[-1] if self.versions else None

    def version_of(self, transaction_hash: str) -> Version | None:
        return next(
            (item for item in self.versions if item.transaction.hash == transaction_hash), None
        )


class Dispatch(Struct, frozen=True):
    hash: str
    plan_id: str
    chain_id: int
    sender: Address
    anchor: Anchor
    private_host: str | None
    planned_at: float
    expires_at: float | None
    """When the approval ends; None before there is one."""
    consumed_at: float | None
    resolved_at: float | None
    ended: PlanEnd | None
    """Why nothing of it is ever sent again; None while it may go on."""
    steps: tuple[PlanStep, ...]

    @property
    def is_finished(self) -> bool:
        """Whether nothing about it can change any more."""
        return all(step.settled for step in self.steps)

    @property
    def stopped_at(self) -> PlanStep | None:
        """The first step that did not happen and will not happen by itself."""
        return next((step for step in self.steps if step.state in STOPPED), None)

    @property
    def account(self) -> Address:
        """Whose tokens it moves, whoever sends it."""
        return self.steps[0].transaction.account

    @property
    def half_done(self) -> bool:
        """Whether some of its steps happened and a later one did not."""
        return self.stopped_at is not None and self.steps[0].state in SUCCEEDED

    @property
    def safe_state(self) -> str | None:
        """Where the person stands, once a step has stopped and just those before it have happened.

        None where a later one happened all the same, or an earlier one did not: only the chain
        knows then.
        """
        stopped = self.stopped_at
        if stopped is None or self.ended is not None:
            return None
        before, after = self.steps[: stopped.position], self.steps[stopped.position :]
        in_turn = all(step.state in SUCCEEDED for step in before) and not any(
            step.was_included and step.state not in _IN_VAIN for step in after
        )
        return stopped.safe_state if in_turn else None

    @property
    def needs_attention(self) -> bool:
        left_open = self.half_done or self.ended is not None
        return self.consumed_at is not None and (
            not self.is_finished or (left_open and self.resolved_at is None)
        )


class DispatchChange(Struct, frozen=True):
    """One line of a dispatch's history."""

    position: int
    state: StepState
    reason: str
    at: float
