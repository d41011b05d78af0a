"""Sending again or replacing what was signed: told first, judged again, never by a look."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from chain.base.units import COIN, Unknown
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.decoder import decode
from chain.execution.decode.parties import Parties, parties_of
from chain.execution.decode.words import describe, names_on
from chain.execution.outbox.delivery import check_signed_bytes
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import REPLACEABLE, Dispatch, PlanStep, Version, VersionKind
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.sender import (
    PLAIN_TRANSFER_GAS,
    Fees,
    Sender,
    TransactionSigner,
    cancellation,
    speed_up,
)
from chain.execution.plan.facts import FactsUnknownError
from chain.execution.transaction import UnsignedTransaction
from chain.positions.overview import Sources
from chain.read.gas import read_gas_price
from chain.rpc import requests
from chain.tokens import Token, read_tokens
from zuno_tui.gate.agreement import Connections, evidence_of, refuse_silent_route
from zuno_tui.gate.approvals import given_for, refuse_tampered
from zuno_tui.gate.drift import network_time
from zuno_tui.gate.judgment import decode_stored, judge_transactions
from zuno_tui.gate.limits import GateLimits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
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
            return (
                "Send an empty transaction to yourself, so that the step can no longer happen.",
            )
        names = names_on(network, self.dispatch.sender, self.tokens)
        return describe(decode(self.version.transaction.unsigned), names)

    @property
    def headline(self) -> str:
        sent = self.version.transaction.hash
        return (
            f"Send {self.step.title} of {self.dispatch.plan_id} again, the same signed bytes "
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
        raise GateRefusedError(f"{step.title} was never signed. {_LOOK}")
    approval, given = given_for(outbox, dispatch)
    refuse_tampered(approval, dispatch, given)
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


CANCEL, SPEED_UP = "cancel", "speed-up"
_ESTIMATE_MARGIN = (3, 2)


class Replacement(Struct, frozen=True):
    dispatch: Dispatch
    step: PlanStep
    transaction: UnsignedTransaction
    action: str

    @property
    def gas(self) -> GasBill:
        return GasBill(self.transaction.gas * self.transaction.max_fee_per_gas)

    @property
    def parties(self) -> Parties:
        """Out of the bytes; what cancels gives nothing to anybody."""
        if self.action == CANCEL:
            return _nobody(self.transaction)
        return parties_of(decode_stored(self.dispatch.plan_id, [self.transaction]))

    @property
    def words(self) -> str:
        step, fee = self.step, self.transaction.max_fee_per_gas
        paying = f"paying at most {fee} wei a gas, {fee * self.transaction.gas / COIN:.6f} in all"
        if self.action == SPEED_UP:
            return (
                f"Send {step.title} of {self.dispatch.plan_id} again with the same bytes, {paying}."
            )
        return (
            f"Send nothing to yourself with nonce {self.transaction.nonce}, so that {step.title} "
            f"of {self.dispatch.plan_id} can no longer happen, {paying}.{_still_usable(step)}"
        )


def _still_usable(step: PlanStep) -> str:
    lent = step.transaction.authorization
    if lent is None:
        return ""
    until = "your next transaction"
    if lent.lender:
        until = f"the next transaction of {checksum(lent.lender)}"
    return f" Until {until} anybody can still use the authorization it carried."


def waiting_dispatch(outbox: Outbox, chain_id: int, plan_id: str | None) -> Dispatch:
    """The one plan that waits on this network, or the newest of the plan named."""
    mine = [dispatch for dispatch in outbox.dispatches() if dispatch.chain_id == chain_id]
    waiting = [
        dispatch
        for dispatch in mine
        if _waiting_step(dispatch) and plan_id in (None, dispatch.plan_id)
    ]
    if not waiting:
        what = "Nothing" if plan_id is None else f"Nothing of {plan_id}"
        raise GateRefusedError(f"{what} waits to be included. See where things stand: zuno outbox")
    if plan_id is None and len(waiting) > 1:
        names = ", ".join(dispatch.plan_id for dispatch in waiting)
        raise GateRefusedError(f"More than one plan waits: {names}. Name the one you mean.")
    return waiting[-1]


async def replacement_of(
    sources: Sources, dispatch: Dispatch, action: str, limits: GateLimits
) -> Replacement:
    """A version of the waiting step that every pool takes in its place."""
    step = _waiting_step(dispatch)
    if step is None:
        raise GateRefusedError(f"Nothing of {dispatch.plan_id} waits to be included.")
    price = await read_gas_price(sources.client)
    if isinstance(price, Unknown):
        raise FactsUnknownError(f"What gas costs is unknown: {price.reason}.")
    market = Fees(price.value.cap, price.value.priority_fee)
    cap = Fees(limits.policy.max_fee_per_gas, limits.policy.max_fee_per_gas)
    if action == CANCEL:
        gas = await _transfer_gas(sources, dispatch.sender)
        made = cancellation(step, market=market, cap=cap, gas=gas)
    else:
        made = speed_up(step, market=market, cap=cap)
    return Replacement(dispatch, step, made, action)


async def send_replacement(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    replacement: Replacement,
    signer: TransactionSigner,
    *,
    limits: GateLimits,
) -> PlanStep:
    await _judge_replacement(sources, outbox, replacement, limits)
    await refuse_silent_route(connections.route)
    head = await sources.client.ask(requests.block("latest"))
    if head is None:
        raise FactsUnknownError("The newest block is unknown.")
    now = network_time(sources, head.timestamp)
    sealed, position = replacement.dispatch.hash, replacement.step.position
    outbox.approve_replacement(sealed, position, replacement.transaction, now=now)
    sender = Sender(
        outbox,
        reads=sources.client,
        route=connections.route,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        evidence=evidence_of(sources.network, connections),
    )
    return await sender.replace(sealed, position, replacement.transaction, signer, at=now)


async def _transfer_gas(sources: Sources, wallet: Address) -> int:
    """What sending nothing to oneself needs: more than a transfer where data is paid as gas."""
    estimate = await sources.client.ask(requests.estimate_gas(wallet, b"", sender=wallet))
    if estimate <= PLAIN_TRANSFER_GAS:
        return PLAIN_TRANSFER_GAS
    more, of = _ESTIMATE_MARGIN
    return estimate * more // of


async def _judge_replacement(
    sources: Sources, outbox: Outbox, replacement: Replacement, limits: GateLimits
) -> None:
    """Nothing to oneself is harmless whatever the journal says; the same bytes again are not."""
    dispatch, transaction = replacement.dispatch, replacement.transaction
    if replacement.action == SPEED_UP:
        approval, given = given_for(outbox, dispatch)
        refuse_tampered(approval, dispatch, given)
        await judge_transactions(sources, dispatch.plan_id, [transaction], limits)
    else:
        refuse_unlike_cancel(transaction)


def refuse_unlike_cancel(transaction: UnsignedTransaction) -> Parties:
    """Who is concerned by what cancels: nobody but its sender, or it is refused."""
    if (transaction.to, transaction.value, transaction.data) != (transaction.sender, 0, b""):
        raise GateRefusedError(
            "What cancels must send nothing, and this sends something. Nothing was signed.",
            RefusalCode.POLICY,
        )
    return _nobody(transaction)


def _nobody(transaction: UnsignedTransaction) -> Parties:
    return Parties(transaction.sender, (), (), (), (transaction.to,), (), ())


def _waiting_step(dispatch: Dispatch) -> PlanStep | None:
    return next(
        (
            step
            for step in dispatch.steps
            if step.versions and not step.settled and step.state in REPLACEABLE
        ),
        None,
    )
