"""What is signed and no node has, as the confirmation shows it before it is sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.checksum import checksummed
from zuno_tui.desk.views import ApprovalView, StepView
from zuno_tui.shown import signing

if TYPE_CHECKING:
    from chain.networks import Network
    from zuno_tui.gate.resume import Resumption

RESUME = "resume"


def resumption_view(resumption: Resumption, network: Network, *, expires_at: float) -> ApprovalView:
    dispatch, step, parties = resumption.dispatch, resumption.step, resumption.parties
    host = dispatch.private_host
    return ApprovalView(
        plan_id=dispatch.plan_id,
        headline=f"{RESUME} {step.name} of {dispatch.plan_id}",
        hash=dispatch.hash,
        expires_at=expires_at,
        steps=(StepView(step.name, (resumption.headline, *resumption.words(network))),),
        outcome=() if host is None else (f"Sent through {host} alone.",),
        wallet=checksummed(dispatch.sender),
        signs_with="nothing: it is signed already, and sent as it is",
        can_sign=True,
        needs_passphrase=False,
        word=RESUME,
        recipients=signing.recipients(parties),
        terms=signing.terms(network, parties, resumption.gas, resumption.tokens),
    )
