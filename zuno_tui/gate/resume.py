"""Sending again what was signed and no node has: told first, judged again, never by a look."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from chain.contracts.networks import Address, Network
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.decoder import decode
from chain.execution.decode.parties import Parties
from chain.execution.decode.words import describe, names_on
from chain.execution.outbox.delivery import check_signed_bytes
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, PlanStep, Version, VersionKind
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.sender import Sender
from chain.positions.overview import Sources
from chain.tokens import Token, read_tokens
from zuno_tui.gate.agreement import Connections, evidence_of, refuse_silent_route
from zuno_tui.gate.approvals import approval_under, refuse_tampered
from zuno_tui.gate.judgment import judge_transactions
from zuno_tui.gate.limits import GateLimits
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.replace import refuse_unlike_cancel
from zuno_tui.gate.results import stands

_LOOK = "See where things stand: zuno outbox"


class Resumption(Struct, frozen=True):
    """The bytes that would be sent again, in words read out of them."""

    dispatch: Dispatch
    step: PlanStep
    version: Version
    parties: Parties
    tokens: Mapping[Address, Token]

    @property
    def gas(self) -> GasBill:
        transaction = self.version.transaction.unsigned
        return GasBill(transaction.gas * transaction.max_fee_per_gas)

    def words(self, network: Network) -> tuple[str, ...]:
        if self.version.kind is VersionKind.CANCEL:
            return ("Send nothing to yourself, so that the step can no longer happen.",)
        names = names_on(network, self.dispatch.sender, self.tokens)
        return describe(decode(self.version.transaction.unsigned), names)

    @property
    def headline(self) -> str:
        sent = self.version.transaction.hash
        return (
            f"Send {self.step.name} of {self.dispatch.plan_id} again, the same signed bytes "
            f"({sent}), with nonce {self.step.transaction.nonce}."
        )


async def prepare_resume(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    plan_id: str | None,
    *,
    limits: GateLimits,
) -> Resumption:
    """Look first; what may be sent again, judged as anything is that is about to be signed."""
    findings = await look(
        outbox,
        sources.client,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        evidence=evidence_of(sources.network, connections),
    )
    finding = _one_missing(findings, plan_id)
    dispatch, step = finding.dispatch, finding.step
    version = step.newest
    if version is None:
        raise GateRefusedError(f"{step.name} was never signed. {_LOOK}")
    approval = approval_under(outbox.store, dispatch.hash)
    refuse_tampered(approval, dispatch)
    parties = await _judge(sources, dispatch, version, limits)
    await refuse_silent_route(connections.route)
    tokens = await read_tokens(
        sources.client,
        sources.network,
        approval.tokens,
        "latest",
        store=sources.store,
        now=sources.clock(),
    )
    return Resumption(dispatch, step, version, parties, tokens)


async def resume_plan(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    resumption: Resumption,
    *,
    limits: GateLimits,
    changed: Callable[[PlanStep], None],
) -> Dispatch:
    """Send what was shown, if it is still what would be shown now, and wait for its block."""
    again = await prepare_resume(
        sources, connections, outbox, resumption.dispatch.plan_id, limits=limits
    )
    if again.version.transaction != resumption.version.transaction:
        raise GateRefusedError(f"What waits is not what was shown. Nothing was sent. {_LOOK}")
    sender = Sender(
        outbox,
        reads=sources.client,
        route=connections.route,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        changed=changed,
        evidence=evidence_of(sources.network, connections),
    )
    return await sender.resume(again.dispatch.hash, again.step.position)


def _one_missing(findings: tuple[StepFinding, ...], plan_id: str | None) -> StepFinding:
    named = [finding for finding in findings if plan_id in (None, finding.dispatch.plan_id)]
    missing = [finding for finding in named if finding.situation is StepSituation.NOT_SENT]
    if not missing:
        raise GateRefusedError(_why_nothing(named, plan_id))
    plans = dict.fromkeys(finding.dispatch.hash for finding in missing)
    if len(plans) > 1:
        names = ", ".join(finding.dispatch.plan_id for finding in missing)
        raise GateRefusedError(f"More than one plan could go on: {names}. Name the one you mean.")
    return missing[0]


def _why_nothing(named: list[StepFinding], plan_id: str | None) -> str:
    what = "Nothing" if plan_id is None else f"Nothing of {plan_id}"
    over = next((finding for finding in named if finding.situation is StepSituation.OVER), None)
    if over is not None:
        return f"{over.sentence} Make a new plan: zuno recommend ID"
    told = f" It stands here: {stands(named[0].dispatch)}." if plan_id and named else ""
    return f"{what} waits to be sent again.{told} Nothing was sent. {_LOOK}"


async def _judge(
    sources: Sources, dispatch: Dispatch, version: Version, limits: GateLimits
) -> Parties:
    """The bytes are the wallet's own, and the policy lets them through as it would now."""
    check_signed_bytes(version.transaction)
    transaction = version.transaction.unsigned
    if version.kind is VersionKind.CANCEL:
        return refuse_unlike_cancel(transaction)
    plan_id = dispatch.plan_id
    return await judge_transactions(sources, plan_id, [transaction], limits)
