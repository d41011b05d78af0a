"""A Safe's transaction judged call by call, from its bytes alone and as everything is now.

Nothing of it comes from a file but the bytes: whoever signs or executes it sees what they do.
"""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from chain.contracts.safe import multi_sends
from chain.execution.build.safe_calls import execution_of, lasting_permissions, own_steps
from chain.execution.decode.parties import Parties, mentions_of, parties_of
from chain.execution.decode.words import names_on
from chain.execution.outbox.outbox import Outbox
from chain.execution.plan.names import Names
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import DecodedStep, SafeExecution
from chain.execution.policy.policy import Allowed, check
from chain.positions.overview import Sources
from chain.rpc.records import Block
from chain.safe.facts import SafeError, SafeFacts
from chain.safe.plans import SafePlan
from zuno_tui.app.safe_wallet import agreed_safe
from zuno_tui.app.session import Session
from zuno_tui.gate.actions.action import ActionTarget, TargetKind, read_subject
from zuno_tui.gate.agreement import Agreement, Connections, require_agreement
from zuno_tui.gate.approvals import notional_of_today
from zuno_tui.gate.basis import Basis, BasisQuestion, read_basis
from zuno_tui.gate.contract_code import read_code_hashes, refuse_other_protocol
from zuno_tui.gate.drift import earliest_time, network_time
from zuno_tui.gate.judgment import (
    NamedInBytes,
    read_context,
    read_named,
    refuse_by_policy,
    refuse_strangers,
)
from zuno_tui.gate.limits import gate_limits, safe_limits
from zuno_tui.gate.prepare import refuse_failing
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.worth import ActionWorth, read_worth


class SafeJudgment(Struct, frozen=True):
    network: Network
    plan: SafePlan
    facts: SafeFacts
    execution: DecodedStep
    steps: tuple[DecodedStep, ...]
    """Each call as the Safe makes it; none where it only uses up a nonce."""
    parties: Parties
    now: int
    """By the network's clock."""
    block: Block
    names: Names
    worth: ActionWorth
    basis: Basis | None
    agreement: Agreement
    notional: int = 0
    """Micro-dollars that it puts into ranges."""

    @property
    def signers(self) -> tuple[Address, ...]:
        return self.plan.signed_by(self.facts)

    @property
    def missing_signatures(self) -> int:
        """Signatures that are still to come."""
        return max(0, self.facts.threshold - len(self.signers))

    def with_plan(self, plan: SafePlan) -> Self:
        """After one more has signed."""
        return replace(self, plan=plan)

    @property
    def changes(self) -> dict[Address, int] | None:
        if self.basis is None:
            return {}
        return self.basis.simulation.all_changes(self.basis.tokens)


async def judge(
    session: Session, sources: Sources, connections: Connections, plan: SafePlan
) -> SafeJudgment:
    """Let it be signed or executed by whoever may, or refuse it and say why."""
    network, made = session.network, plan.transaction
    if made.chain_id != network.chain_id:
        raise GateRefusedError(
            f"This is a transaction of a Safe on chain {made.chain_id}, and this is "
            f"{network.title}. Nothing was signed. Name its network: --network NAME",
            RefusalCode.ANOTHER_CHAIN,
        )
    try:
        execution = execution_of(made)
    except DecodingError as error:
        raise GateRefusedError(
            f"The calls of this Safe transaction cannot be read: {error} Nothing was signed.",
            RefusalCode.CHANGED_ON_DISK,
        ) from error
    fresh = sources.without_memory()
    block = await fresh.client.head()
    facts = await agreed_safe(fresh, connections, made.safe, block.hash)
    facts.refuse_unfit()
    refuse_used_nonce(plan, facts)
    steps = own_steps(execution, 0)
    now = network_time(sources, block.timestamp)
    if not steps:
        worth = await read_worth(fresh, (), block)
        parties = Parties(made.safe, (), (), (), (made.safe,), (), ())
        names = names_on(network, made.safe, {})
        agreed = Agreement(tuple(each.host for each in connections.witnesses) or ("the endpoint",))
        return SafeJudgment(
            network, plan, facts, execution, (), parties, now, block, names, worth, None, agreed
        )
    await _refuse_other_bundler(fresh, execution, block)
    refuse_lasting(steps)
    parties = parties_of([execution])
    refuse_strangers(network, parties)
    named = await read_named(fresh, steps, block)
    subject = await read_subject(fresh, _about(steps, named, session), at=block.hash)
    if subject is None:
        raise GateRefusedError(
            "A position that this Safe transaction is about is gone. Nothing was signed.",
            RefusalCode.DRIFT,
        )
    basis, agreement = await _tried(fresh, connections, steps, named, subject)
    limits = safe_limits(gate_limits(session.settings.limits, network))
    with Outbox.open(session.home.outbox) as outbox:
        today = notional_of_today(outbox, now)
    context = await read_context(
        fresh,
        steps,
        named,
        block,
        codes=basis.codes,
        limits=limits,
        head_time=earliest_time(sources, block),
        notional_today=today,
        quotes=() if basis.swap is None else (basis.swap,),
        wallet=None,
    )
    verdict = check(steps, context)
    refuse_by_policy(verdict)
    assert isinstance(verdict, Allowed)
    refuse_failing(basis.simulation)
    sources.store.absorb(fresh.store, now=sources.clock())
    worth = await read_worth(fresh, named.tokens, block)
    return SafeJudgment(
        network=network,
        plan=plan,
        facts=facts,
        execution=execution,
        steps=steps,
        parties=parties,
        now=now,
        block=block,
        names=names_on(network, made.safe, basis.tokens, subject.positions),
        worth=worth,
        basis=basis,
        agreement=agreement,
        notional=-(-verdict.notional.numerator // verdict.notional.denominator),
    )


def refuse_used_nonce(plan: SafePlan, facts: SafeFacts) -> None:
    nonce = plan.transaction.nonce
    if nonce < facts.nonce:
        raise SafeError(
            f"Nonce {nonce} of the Safe is used: this was executed elsewhere, or another of the "
            f"same nonce was, and nothing can be done with it. The Safe is at {facts.nonce}. "
            "Nothing was signed."
        )


def refuse_lasting(steps: tuple[DecodedStep, ...]) -> None:
    if left := tuple(lasting_permissions(steps)):
        lines = "\n".join(f"  {words}" for words in left)
        raise GateRefusedError(
            f"Permissions would outlive this Safe transaction. Nothing was signed.\n{lines}",
            RefusalCode.POLICY,
        )


async def _refuse_other_bundler(sources: Sources, execution: DecodedStep, block: Block) -> None:
    call = execution.call
    bundler = call.multi_send if isinstance(call, SafeExecution) else None
    if bundler is None:
        return
    codes = await read_code_hashes(sources, [bundler], block.hash, pins=sources.store)
    if codes.now.get(bundler) != multi_sends()[bundler]:
        raise GateRefusedError(
            f"The code at {checksum(bundler)}, which would make several calls one, is not "
            "the known MultiSendCallOnly. Nothing was signed.",
            RefusalCode.CONTRACT_CODE,
        )


def _about(steps: tuple[DecodedStep, ...], named: NamedInBytes, session: Session) -> TargetKind:
    mentions = mentions_of(steps, session.network)
    mine = tuple(ref for ref in mentions.positions if ref in named.positions)
    if mine:
        return TargetKind(ref=mine[0], others=mine[1:])
    return TargetKind(pool=next(iter(named.pools), None))


async def _tried(
    fresh: Sources,
    connections: Connections,
    steps: tuple[DecodedStep, ...],
    named: NamedInBytes,
    subject: ActionTarget,
) -> tuple[Basis, Agreement]:
    question = BasisQuestion(
        subject.about,
        steps[0].transaction.sender,
        named.tokens,
        named.contracts(fresh.network),
        tuple(step.transaction for step in steps),
        named.swaps[0] if named.swaps else None,
    )
    witnesses = [witness.client for witness in connections.witnesses]
    basis = await read_basis(
        fresh, question, subject.block, pins=fresh.store, subject=subject, trial_by=witnesses
    )
    refuse_other_protocol(fresh.network, basis.codes)
    return basis, await require_agreement(fresh, connections, question, basis)
