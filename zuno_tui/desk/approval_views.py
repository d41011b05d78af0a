"""What is approved, as card and confirmation show it: words from bytes, outcome from a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.checksum import checksummed
from zuno_tui.cli.approval_card import outcome_lines
from zuno_tui.desk.views import ApprovalView, StepView
from zuno_tui.words import signed_amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.networks import Address
    from zuno_tui.desk.signing_key import SigningKey
    from zuno_tui.gate.applying import Waiting
    from zuno_tui.gate.approving import Approved
    from zuno_tui.gate.replacing import Replacement


def approved_view(approved: Approved, wallet: Address, key: SigningKey) -> ApprovalView:
    """Right after approving, with everything the trial showed."""
    rehearsal = approved.rehearsal
    prepared = rehearsal.prepared
    return ApprovalView(
        plan_id=prepared.wish.plan_id,
        headline=prepared.wish.headline,
        hash=approved.hash,
        expires_at=float(prepared.bounds.expires_at),
        steps=_steps(rehearsal.words),
        outcome=(
            *(f"! {warning}" for warning in rehearsal.warnings),
            *(line.strip() for line in outcome_lines(rehearsal)),
        ),
        wallet=checksummed(wallet),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
    )


def waiting_view(
    waiting: Waiting, key: SigningKey, outcome: tuple[str, ...] | None
) -> ApprovalView:
    """Before signing: the words anew from the journal's bytes; the outcome as it was shown."""
    approval = waiting.approval
    return ApprovalView(
        plan_id=approval.plan_id,
        headline=approval.headline,
        hash=approval.hash,
        expires_at=float(approval.bounds.expires_at),
        steps=_steps(waiting.words),
        outcome=outcome or tuple(_kept_outcome(waiting)),
        wallet=checksummed(waiting.dispatch.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
    )


def replacement_view(
    replacement: Replacement, key: SigningKey, *, expires_at: float
) -> ApprovalView:
    """What waits in a pool, to be cancelled or sped up by that very word."""
    dispatch, step = replacement.dispatch, replacement.step
    host = dispatch.private_host
    return ApprovalView(
        plan_id=dispatch.plan_id,
        headline=f"{replacement.action} {step.name} of {dispatch.plan_id}",
        hash=replacement.transaction.digest,
        expires_at=expires_at,
        steps=(StepView(step.name, (replacement.words,)),),
        outcome=() if host is None else (f"Sent through {host} alone.",),
        wallet=checksummed(dispatch.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        word=replacement.action,
    )


def _steps(words: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[StepView, ...]:
    return tuple(StepView(name, sentences) for name, sentences in words)


def _kept_outcome(waiting: Waiting) -> Iterator[str]:
    """What was written down of an approval that an earlier run gave."""
    approval = waiting.approval
    yield from (f"! {warning}" for warning in approval.warnings)
    if approval.quoted is not None:
        yield "Tried when it was approved, the wallet would see:"
        for token, amount in approval.quoted.items():
            known = waiting.tokens[token]
            yield f"{signed_amount(amount, known)} {known.label}"
    if waiting.dispatch.private_host is not None:
        yield f"Sent through {waiting.dispatch.private_host} alone."
