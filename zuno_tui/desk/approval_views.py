"""What is approved, as card and confirmation show it: words from bytes, outcome from a trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.checksum import checksummed
from chain.execution.parties import parties_of
from chain.networks import network_named
from chain.wallet.book import Keeping, read_book
from chain.wallet.demo import DEMO_NETWORK
from zuno_tui.cli.approval_card import outcome_lines
from zuno_tui.desk.views import ApprovalView, StepView
from zuno_tui.shown import signing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.home import Home
    from chain.networks import Address, Network
    from zuno_tui.gate.applying import Waiting
    from zuno_tui.gate.approving import Approved
    from zuno_tui.gate.replacing import Replacement


@dataclass(frozen=True, slots=True)
class SigningKey:
    words: str
    can_sign: bool = True
    needs_passphrase: bool = False


def signing_key(home: Home, network: Network, wallet: Address) -> SigningKey:
    demo = network_named(DEMO_NETWORK)
    if wallet == demo.default_address:
        if network == demo:
            return SigningKey("the demo's key")
        return SigningKey(
            "nothing: the demo's key signs on the embedded chain only", can_sign=False
        )
    known = read_book(home.keystore).at(wallet)
    if known is None:
        return SigningKey("nothing: zuno holds no key for it (zuno wallet import)", can_sign=False)
    match known.keeping:
        case Keeping.KEYRING:
            return SigningKey(f"{known.name}, in the system's keyring")
        case Keeping.FILE:
            return SigningKey(f"{known.name}, in an encrypted file", needs_passphrase=True)
        case Keeping.NOWHERE:
            return SigningKey(f"nothing: {known.name} is watch-only", can_sign=False)


def approved_view(approved: Approved, wallet: Address, key: SigningKey) -> ApprovalView:
    """Right after approving, with everything the trial showed."""
    rehearsal = approved.rehearsal
    prepared = rehearsal.prepared
    parties = parties_of(prepared.steps)
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
        recipients=signing.recipients(parties),
        terms=signing.terms(prepared.facts.network, parties, prepared.gas, rehearsal.tokens),
    )


def waiting_view(waiting: Waiting, network: Network, key: SigningKey) -> ApprovalView:
    """Before signing: the words out of the journal's bytes, the outcome by a trial made then."""
    approval, judgment = waiting.approval, waiting.judgment
    return ApprovalView(
        plan_id=approval.plan_id,
        headline=approval.headline,
        hash=approval.hash,
        expires_at=float(approval.bounds.expires_at),
        steps=_steps(waiting.words),
        outcome=tuple(line.strip() for line in signing.outcome_lines(waiting)),
        wallet=checksummed(judgment.parties.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(judgment.parties),
        terms=signing.terms(network, judgment.parties, judgment.gas, waiting.tokens),
        word=waiting.word,
    )


def replacement_view(
    replacement: Replacement, network: Network, key: SigningKey, *, expires_at: float
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
        recipients=signing.recipients(replacement.parties),
        terms=signing.terms(network, replacement.parties, replacement.gas, {}),
    )


def _steps(words: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[StepView, ...]:
    return tuple(StepView(name, sentences) for name, sentences in words)
