"""The two ways out for what was sent and waits: a dearer copy, or nothing in its place."""

from msgspec import Struct

from chain.base.units import COIN, Unknown
from chain.contracts.networks import Address
from chain.execution.build.facts import FactsUnknownError
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.parties import Parties, parties_of
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import REPLACEABLE, Dispatch, PlanStep
from chain.execution.outbox.sender import (
    PLAIN_TRANSFER_GAS,
    Fees,
    Sender,
    TransactionSigner,
    cancellation,
    speed_up,
)
from chain.execution.transaction import UnsignedTransaction
from chain.positions.overview import Sources
from chain.read.gas import read_gas_price
from chain.rpc import requests
from zuno_tui.gate.agreement import Connections, evidence_of, refuse_silent_route
from zuno_tui.gate.approvals import approval_under, refuse_tampered
from zuno_tui.gate.drift import network_time
from zuno_tui.gate.judgment import decoded, judge_transactions
from zuno_tui.gate.limits import GateLimits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

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
        return parties_of(decoded(self.dispatch.plan_id, [self.transaction]))

    @property
    def words(self) -> str:
        step, fee = self.step, self.transaction.max_fee_per_gas
        paying = f"paying at most {fee} wei a gas, {fee * self.transaction.gas / COIN:.6f} in all"
        if self.action == SPEED_UP:
            return (
                f"Send {step.name} of {self.dispatch.plan_id} again with the same bytes, {paying}."
            )
        return (
            f"Send nothing to yourself with nonce {self.transaction.nonce}, so that {step.name} of "
            f"{self.dispatch.plan_id} can no longer happen, {paying}."
        )


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
    await _judge(sources, outbox, replacement, limits)
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


async def _judge(
    sources: Sources, outbox: Outbox, replacement: Replacement, limits: GateLimits
) -> None:
    """Nothing to oneself is harmless whatever the journal says; the same bytes again are not."""
    dispatch, transaction = replacement.dispatch, replacement.transaction
    if replacement.action == SPEED_UP:
        refuse_tampered(approval_under(outbox.store, dispatch.hash), dispatch)
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
