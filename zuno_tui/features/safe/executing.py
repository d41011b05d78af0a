"""Execution: what enough owners signed, judged again on the same bytes, and sent by anybody."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import APPROVAL_SECONDS
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address
from chain.execution.build.builder import Built, with_gas
from chain.execution.build.gas_bill import GasBill, coin_needed, with_whole_gas
from chain.execution.build.safe_calls import sent_by
from chain.execution.chain_facts import read_chain_facts
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, Dispatch, PlannedDispatch, PlannedStep, PlanStep
from chain.execution.plan.facts import Tolerance
from chain.execution.policy.policy import VERSION
from chain.execution.simulate import simulate_whole
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.safe.facts import SafeError
from chain.safe.plans import SafePlan
from chain.wallet.address_book import read_book
from chain.wallet.signer import Signer
from zuno_tui.app.session import Session
from zuno_tui.features.safe.judging import SafeJudgment, judge
from zuno_tui.features.safe.page import headline
from zuno_tui.features.safe.signing import next_step, signing_wallets
from zuno_tui.gate.actions.action import ActionTarget, TargetKind
from zuno_tui.gate.acts import make_given_approval
from zuno_tui.gate.agreement import Connections, refuse_silent_route
from zuno_tui.gate.apply import send_approved
from zuno_tui.gate.approvals import Approval, seal_again
from zuno_tui.gate.drift import DriftLimits, read_circumstances
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.pending_elsewhere import nonces_sent, pending_elsewhere, pending_words
from zuno_tui.gate.prepare import agreed_fees, refuse_failing
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode


class JudgedExecution(Struct, frozen=True):
    """What is about to be sent, tried as it would be."""

    judgment: SafeJudgment
    built: Built
    gas: GasBill
    sender: Address


async def sender_named(session: Session, sources: Sources, named: str | None) -> Address:
    """Any account with gas: the one that is named, else whoever has most of it."""
    if named is not None:
        return read_book(session.home.keystore).find(named).address
    here = signing_wallets(session)
    if not here:
        raise GateRefusedError(
            "No key is here that could send it. Nothing was signed. Add one with some gas: "
            "zuno wallet import. It need not be an owner's."
        )
    held = await sources.client.together(*(requests.balance(each) for each in here))
    return here[held.index(max(held))]


async def prepared_execution(
    session: Session,
    sources: Sources,
    connections: Connections,
    plan: SafePlan,
    sender: Address,
) -> JudgedExecution:
    """Refused unless the Safe takes these very bytes now."""
    judgment = await judge(session, sources, connections, plan)
    facts, made = judgment.facts, plan.transaction
    if judgment.missing_signatures:
        strangers = [each for each in plan.signatures if each not in facts.owners]
        gone = f" {_names(strangers)} signed and is no owner (any more)." if strangers else ""
        raise SafeError(
            f"{len(judgment.signers)} of {facts.threshold} needed owners have signed.{gone} "
            f"Nothing was sent. {next_step(session, judgment.plan, judgment.facts)}"
        )
    if made.nonce != facts.nonce:
        raise SafeError(
            f"It has nonce {made.nonce}, and the Safe carries out {facts.nonce} next. Nothing was "
            "sent."
        )
    with Outbox.open(session.home.outbox) as outbox:
        own = nonces_sent(outbox.dispatches(), session.network.chain_id, sender)
    if waiting := await pending_elsewhere(connections.readers(sources.client), sender, own):
        raise GateRefusedError(pending_words(waiting), RefusalCode.PENDING_ELSEWHERE)
    read = await read_chain_facts(
        sources.client, session.network, sender, (NATIVE,), judgment.block
    )
    fees = await agreed_fees(connections.witnesses, judgment.block, read.fees)
    policy = gate_limits(session.settings.limits, session.network).policy
    if fees.max_fee_per_gas > policy.max_fee_per_gas:
        raise GateRefusedError(
            f"Gas costs {fees.max_fee_per_gas} wei, over the {policy.max_fee_per_gas} that the "
            "settings let go. Nothing was sent. Wait, or set limits.max_fee_gwei.",
            RefusalCode.POLICY,
        )
    transaction = replace(
        sent_by(sender, made, plan.join_signatures(facts)),
        gas=judgment.block.gas_limit // 2,
        max_fee_per_gas=fees.max_fee_per_gas,
        max_priority_fee_per_gas=fees.max_priority_fee_per_gas,
        nonce=read.nonce,
    )
    tokens = () if judgment.basis is None else tuple(judgment.basis.tokens)
    readers = connections.readers(sources.client)
    tried = await simulate_whole(readers, [transaction], judgment.block.hash, tokens)
    refuse_failing(tried)
    built = Built((transaction,), (), (), 0, Tolerance())
    if tried.whole:
        built = with_gas(built, [step.gas_used for step in tried.steps])
    built, gas = await with_whole_gas(sources.client, session.network, built, judgment.block.hash)
    short = coin_needed(gas, built) - read.balances[NATIVE]
    if short > 0:
        raise GateRefusedError(
            f"{checksum(sender)} is {short / 10**18:.6f} {session.network.native_symbol} short "
            "of the gas. Nothing was sent. Name another wallet: --from WALLET",
            RefusalCode.GAS_SHORT,
        )
    await refuse_silent_route(connections.route)
    return JudgedExecution(judgment, built, gas, sender)


def _names(addresses: list[Address]) -> str:
    return ", ".join(map(checksum, addresses))


async def carry_out(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    execution: JudgedExecution,
    signer: Signer,
    *,
    changed: Callable[[PlanStep], None],
) -> tuple[Approval, Dispatch]:
    """Written down, signed and sent as any plan is; the journal keeps it from going out twice."""
    judgment = execution.judgment
    block, (transaction,) = judgment.block, execution.built.transactions
    anchor = Anchor(block.number, block.hash)
    private = connections.route.private_host
    planned = PlannedDispatch(
        hash="",
        plan_id=judgment.plan.plan_id,
        anchor=anchor,
        steps=(PlannedStep(transaction, "nothing happened", _deadline(judgment)),),
        private_host=private,
    )
    unsealed = await _approval(sources, execution)
    sealed = seal_again(planned, unsealed.terms)
    approval = replace(unsealed, hash=sealed)
    dispatch = outbox.plan(replace(planned, hash=sealed), now=judgment.now)
    if dispatch.consumed_at is not None and not any(step.versions for step in dispatch.steps):
        raise GateRefusedError(
            "It was cut off before it was signed: nothing was sent, then or now. After the next "
            f"block: zuno safe execute {judgment.plan.number}",
            RefusalCode.ALREADY_APPLIED,
        )
    if dispatch.consumed_at is not None:
        raise GateRefusedError(
            "The same transaction was sent before. Nothing was sent now. See it: zuno outbox",
            RefusalCode.ALREADY_APPLIED,
        )
    terms, now = approval.terms, judgment.now
    given = make_given_approval(ActKind.PLAN, approval.plan_id, sealed, terms, now=float(now))
    dispatch = outbox.approve(sealed, now=now, given=given)
    approved = (approval, dispatch)
    done = await send_approved(
        sources, connections, outbox, approved, signer, at=now, changed=changed
    )
    return approval, done


def _deadline(judgment: SafeJudgment) -> int | None:
    return min(judgment.parties.deadlines, default=None)


async def _approval(sources: Sources, execution: JudgedExecution) -> Approval:
    judgment, basis = execution.judgment, execution.judgment.basis
    (transaction,) = execution.built.transactions
    subject = None if basis is None else basis.subject
    return Approval(
        hash="",
        plan_id=judgment.plan.plan_id,
        about=TargetKind() if subject is None else subject.about,
        headline=headline(judgment),
        tokens=() if basis is None else tuple(basis.tokens),
        before=await read_circumstances(
            sources, subject or ActionTarget(judgment.block), judgment.facts.address
        ),
        bounds=DriftLimits(0, 0, transaction.max_fee_per_gas, judgment.now + int(APPROVAL_SECONDS)),
        quoted=judgment.changes,
        notional=judgment.notional,
        simulated="",
        warnings=(),
        kept={},
        untold=(),
        daily_limit=None,
        codes={} if basis is None else basis.codes.now,
        gas_exceeds=False,
        policy=VERSION,
    )
