"""Applying: the approval found, judged once more, and only then signed and sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.contracts.networks import Address, Network
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.titles import step_title
from chain.execution.decode.words import describe, names_on
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, EndCode, PlanStep
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.sender import Sender, TransactionSigner
from chain.execution.simulate import simulate
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.positions.overview import Sources
from chain.rpc.errors import RpcRefused
from chain.tokens import Token
from zuno_tui.gate.acts import waiting_approval
from zuno_tui.gate.agreement import Connections, evidence_of
from zuno_tui.gate.approvals import (
    Approval,
    approval_in,
    refuse_other_rules,
    refuse_past_the_day,
    refuse_tampered,
)

if TYPE_CHECKING:
    from zuno_tui.gate.judgment import SigningJudgment


class ShownSigner(Struct, frozen=True):
    """Signs the transactions whose words a person saw, and none that the journal holds since."""

    signer: TransactionSigner
    shown: frozenset[UnsignedTransaction]

    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction:
        if transaction not in self.shown:
            raise OutboxError(
                f"The journal's step, {step_title(transaction)}, is not what was shown. "
                "It was not signed.",
                "See where things stand: zuno outbox",
            )
        return self.signer.sign(transaction)


WORD, ANYWAY = "apply", "apply-anyway"


class InterruptedApplyError(ZunoError):
    """Something failed after signing had begun; only the outbox knows how far it came."""


class WaitingApproval(Struct, frozen=True):
    """An approval that was not used yet, with what it would do in the words of its own bytes."""

    approval: Approval
    dispatch: Dispatch
    judgment: SigningJudgment
    words: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def word(self) -> str:
        """What must be typed: another word where gas costs more than it is about."""
        return ANYWAY if self.approval.gas_exceeds else WORD

    @property
    def tokens(self) -> Mapping[Address, Token]:
        return self.judgment.basis.tokens

    @property
    def changes(self) -> dict[Address, int] | None:
        """What the wallet would hold more or less of now; None where not all could be tried."""
        return self.judgment.basis.simulation.all_changes(self.tokens)


def unused_approval(
    outbox: Outbox, plan_id: str | None, confirmed: str | None
) -> tuple[Approval, Dispatch]:
    """The newest approval of the plan, refused when another hash was confirmed or it was used."""
    given = waiting_approval(outbox, ActKind.PLAN, plan_id, confirmed)
    approval, dispatch = approval_in(outbox, given), outbox.dispatch(given.hash)
    if dispatch.ended is not None and dispatch.ended.code is EndCode.TAKEN_BACK:
        raise PlanOverError(dispatch, dispatch.ended.code)
    refuse_tampered(approval, dispatch, given)
    refuse_other_rules(approval)
    return approval, dispatch


def waiting_of(
    network: Network, approval: Approval, dispatch: Dispatch, judgment: SigningJudgment
) -> WaitingApproval:
    """What is about to be signed, in words read once more out of the bytes in the journal."""
    names = names_on(
        network, dispatch.sender, judgment.basis.tokens, judgment.basis.subject.positions
    )
    words = tuple(
        (step_title(step.transaction), describe(step, names))
        for step in single_calls(judgment.steps)
    )
    return WaitingApproval(approval, dispatch, judgment, words)


async def apply(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    waiting: WaitingApproval,
    signer: TransactionSigner,
    *,
    changed: Callable[[PlanStep], None],
) -> Dispatch:
    """Sign and send what was judged just now."""
    return await send_approved(
        sources,
        connections,
        outbox,
        (waiting.approval, waiting.dispatch),
        signer,
        at=waiting.judgment.now,
        changed=changed,
    )


async def send_approved(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    approved: tuple[Approval, Dispatch],
    signer: TransactionSigner,
    *,
    at: int,
    changed: Callable[[PlanStep], None],
) -> Dispatch:
    """Sign and send, step by step, until the chain has decided each."""
    approval, dispatch = approved
    refuse_past_the_day(outbox, approval, at)
    sender = Sender(
        outbox,
        reads=sources.client,
        route=connections.route,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        changed=changed,
        objection=lambda transaction, at: _objection(sources, transaction, at),
        evidence=evidence_of(sources.network, connections),
    )
    shown = frozenset(step.transaction for step in dispatch.steps)
    return await sender.apply(approval.hash, ShownSigner(signer, shown), at=at)


async def _objection(
    sources: Sources, transaction: UnsignedTransaction, block_hash: str
) -> str | None:
    """Why a step would fail where the one before it has brought things."""
    try:
        tried = await simulate(sources.client, [transaction], block_hash)
    except RpcRefused as error:
        return f"it could not be tried before it was signed: {error.sentence}"
    failed = next((step for step in tried.steps if not step.success), None)
    return None if failed is None else f"tried before it was signed, it fails: {failed.failure}"
