"""`zuno export PLAN`: the approved transactions, unsigned, for a Safe or a hardware wallet."""

from chain.base.units import time_text
from chain.contracts.addresses import checksum
from chain.execution.decode.decoder import decode, single_calls
from chain.execution.decode.parties import deadlines_of
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, PlanStep
from chain.execution.plan.records import DecodedStep, PlainCall
from zuno_tui.app.outbox import approval_page
from zuno_tui.app.session import Session
from zuno_tui.gate.apply import unused_approval, waiting_of
from zuno_tui.gate.approvals import Approval
from zuno_tui.gate.judgment import judge_again
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.approval_view import signing_key
from zuno_tui.present.output import Json, json_text
from zuno_tui.present.pages.export import ExportedPlan, ExportedStep, export_page
from zuno_tui.present.receipt_lines import page_text


async def export_approval(
    session: Session, plan_id: str | None, *, for_safe: bool
) -> CommandAnswer:
    limits = gate_limits(session.settings.limits, session.network)
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            approval, dispatch = unused_approval(outbox, plan_id, None)
            # Another signer will not ask: what would not be signed here is not handed to it.
            judgment = await judge_again(
                sources, connections, outbox, approval, dispatch, limits=limits
            )
        waiting = waiting_of(session.network, approval, dispatch, judgment)
        page = await approval_page(session, sources, waiting)
    if any(step.transaction.authorization is not None for step in dispatch.steps):
        raise GateRefusedError(
            "A delegation is signed by the account's own key, and not exported. "
            f"Sign it here: zuno apply {approval.plan_id}"
        )
    document = (_safe_batch if for_safe else _raw_list)(approval, dispatch)
    return CommandAnswer(
        lines=tuple(json_text(document).splitlines()),
        document=document,
        exact=True,
        remarks=(*page_text(page), *_terms(approval, dispatch)),
        view=export_page(_exported(session, approval, dispatch, for_safe=for_safe)),
    )


def _exported(
    session: Session, approval: Approval, dispatch: Dispatch, *, for_safe: bool
) -> ExportedPlan:
    return ExportedPlan(
        plan_id=approval.plan_id,
        headline=approval.headline,
        coin=session.network.native_symbol,
        sender=dispatch.sender,
        for_safe=for_safe,
        has_own_key=signing_key(session.home, session.network, dispatch.sender).can_sign,
        expires_at=approval.bounds.expires_at,
        steps=tuple(
            ExportedStep(step.title, step.transaction.to, step.transaction.value, step.deadline)
            for step in dispatch.steps
        ),
    )


def _terms(approval: Approval, dispatch: Dispatch) -> tuple[str, ...]:
    """What binds whoever signs them: zuno cannot hold another signer to it."""
    calls = [step.call for step in _single_calls(dispatch)]
    deadlines = [end for call in calls if isinstance(call, PlainCall) for end in deadlines_of(call)]
    refused = (
        f"The chain refuses it after {time_text(min(deadlines))}."
        if deadlines
        else "The transactions have no deadline."
    )
    return (
        f"{approval.headline} · {approval.plan_id}.",
        f"Approved as {approval.hash}.",
        f"The approval ends at {time_text(approval.bounds.expires_at)}: after it, approve again.",
        refused,
        f"Only {checksum(dispatch.sender)} may send it, in this order.",
    )


def _safe_batch(approval: Approval, dispatch: Dispatch) -> Json:
    """As the Safe's Transaction Builder reads a batch; a Safe sends it whole, or not at all."""
    return {
        "version": "1.0",
        "chainId": str(dispatch.chain_id),
        "createdAt": int(dispatch.planned_at) * 1000,
        "meta": {
            "name": approval.headline,
            "description": " ".join(_terms(approval, dispatch)),
            "createdFromSafeAddress": checksum(dispatch.sender),
        },
        "transactions": [
            {
                "to": checksum(step.transaction.to),
                "value": str(step.transaction.value),
                "data": "0x" + step.transaction.data.hex(),
                "contractMethod": None,
                "contractInputsValues": None,
            }
            for step in _single_calls(dispatch)
        ],
    }


def _single_calls(dispatch: Dispatch) -> tuple[DecodedStep, ...]:
    return single_calls(decode(step.transaction) for step in dispatch.steps)


def _raw_list(approval: Approval, dispatch: Dispatch) -> Json:
    """Each transaction with every field that is signed, and what it was approved under."""
    return [_raw(approval, step) for step in dispatch.steps]


def _raw(approval: Approval, step: PlanStep) -> Json:
    transaction = step.transaction
    return {
        "planId": approval.plan_id,
        "approval": approval.hash,
        "expiresAt": approval.bounds.expires_at,
        "deadline": step.deadline,
        "step": transaction.step,
        "type": "0x2",
        "chainId": hex(transaction.chain_id),
        "nonce": hex(transaction.nonce),
        "from": checksum(transaction.sender),
        "to": checksum(transaction.to),
        "value": hex(transaction.value),
        "data": "0x" + transaction.data.hex(),
        "gas": hex(transaction.gas),
        "maxFeePerGas": hex(transaction.max_fee_per_gas),
        "maxPriorityFeePerGas": hex(transaction.max_priority_fee_per_gas),
    }
