"""From an action to one owner's signature: built, judged, approved, judged again, signed."""

from collections.abc import Mapping

from agents.bus.plan_store import PlanStore
from chain.base.units import HOUR
from chain.contracts.addresses import checksum
from chain.contracts.networks import EMBEDDED, Address, network_named
from chain.contracts.safe import FIELDS, SafeTransaction, safe_transaction, signer_of
from chain.execution.build.safe_calls import calls_of
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.outbox import Outbox
from chain.positions.overview import Sources
from chain.rpc.records import Json
from chain.safe.facts import SafeFacts
from chain.safe.plans import SafePlan, SafePlans
from chain.wallet.address_book import read_book
from chain.wallet.key_holder import TypedData
from chain.wallet.signer import Signer
from zuno_tui.app.approve import dry_run_made
from zuno_tui.app.feature import ActionMaker
from zuno_tui.app.safe_wallet import agreed_safe
from zuno_tui.app.session import Session
from zuno_tui.features.safe.judging import SafeJudgment, judge, refuse_used_nonce
from zuno_tui.gate.acts import (
    make_given_approval,
    refuse_changed,
    refuse_over,
    seal,
    waiting_approval,
)
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.limits import gate_limits, safe_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

FLOW = "safe"


async def propose(
    session: Session, sources: Sources, connections: Connections, make_action: ActionMaker
) -> SafePlan:
    """What was asked for as a transaction of the Safe, at its next nonce; nobody has signed it."""
    facts = await agreed_safe(sources, connections, session.address)
    facts.refuse_unfit()
    own = gate_limits(session.settings.limits, session.network)
    limits = safe_limits(own, round(session.settings.limits.safe_hours * HOUR))
    dry_run = await dry_run_made(session, sources, make_action, limits)
    built = dry_run.prepared.built.transactions
    if any(each.authorization is not None for each in built):
        raise GateRefusedError(
            "A Safe is a contract and cannot be delegated: its plans are one transaction anyway. "
            "Nothing was signed."
        )
    made = safe_transaction(
        calls_of(built),
        chain_id=session.network.chain_id,
        safe=facts.address,
        nonce=facts.nonce,
        multi_send=facts.multi_send,
    )
    return keep(session, SafePlan(0, made, {}))


def rejection_of(plan: SafePlan) -> SafePlan:
    """The empty transaction of the same nonce: of the two at most one is ever carried out."""
    made = plan.transaction
    empty = SafeTransaction(made.chain_id, made.safe, made.safe, 0, b"", 0, made.nonce)
    return SafePlan(0, empty, {})


def keep(session: Session, plan: SafePlan) -> SafePlan:
    kept = SafePlans(session.home.safe).add(plan)
    PlanStore(session.home.plans).keep({"planId": kept.plan_id, "flow": FLOW})
    return kept


def approve(session: Session, judgment: SafeJudgment) -> GivenApproval:
    """Ten minutes for one owner's signature."""
    plan, now = judgment.plan, float(judgment.now)
    with Outbox.open(session.home.outbox) as outbox:
        before = outbox.newest_given(ActKind.SAFE, plan.plan_id)
        # Two may be given within one block: each is of what the one before left, also where that
        # was used and its signature lost.
        used = None if before is None or before.used_at is None else before.hash
        terms = {"after": sorted(plan.signatures), "insteadOf": used}
        sealed = _sealed(plan, terms, now)
        given = make_given_approval(ActKind.SAFE, plan.plan_id, sealed, terms, now=now)
        outbox.give(given)
    return given


def _sealed(plan: SafePlan, terms: Mapping[str, object], now: float) -> str:
    return seal({"safeTxHash": "0x" + plan.transaction.hash.hex(), "givenAt": now, **terms})


def approval_of(session: Session, plan: SafePlan, confirmed: str | None) -> GivenApproval:
    with Outbox.open(session.home.outbox) as outbox:
        newest = outbox.newest_given(ActKind.SAFE, plan.plan_id)
        if newest is not None and newest.used_at is not None:
            raise GateRefusedError(
                f"An approval gives one owner's signature, and that of {plan.plan_id} has. Nothing "
                f"was signed now. For the next owner: zuno approve {plan.plan_id}",
                RefusalCode.ALREADY_APPLIED,
            )
        given = waiting_approval(outbox, ActKind.SAFE, plan.plan_id, confirmed)
    refuse_changed(given, _sealed(plan, given.terms, given.given_at))
    return given


async def judged_approval(
    session: Session,
    sources: Sources,
    connections: Connections,
    plan: SafePlan,
    given: GivenApproval,
) -> SafeJudgment:
    judgment = await judge(session, sources, connections, plan)
    refuse_over(given, judgment.now)
    return judgment


def owner_to_sign(session: Session, judgment: SafeJudgment, named: str | None) -> Address:
    """Whose key is here and has not signed: the one that is named, else the first."""
    facts, plan = judgment.facts, judgment.plan
    here = signing_wallets(session)
    if named is not None:
        chosen = read_book(session.home.keystore).find(named).address
        if chosen not in facts.owners:
            raise GateRefusedError(
                f"{checksum(chosen)} is no owner of the Safe {checksum(facts.address)}. "
                "Nothing was signed. Its owners: zuno safe"
            )
        here = (chosen,)
    owners = [each for each in here if each in facts.owners]
    left = [each for each in owners if each not in plan.signatures]
    if left:
        return left[0]
    if owners:
        raise GateRefusedError(
            f"{' and '.join(map(checksum, owners))} have signed this. Nothing was signed "
            "now. " + next_step(session, judgment.plan, judgment.facts)
        )
    missing = ", ".join(checksum(each) for each in facts.owners if each not in plan.signatures)
    raise GateRefusedError(
        f"No owner's key is here. Nothing was signed. Owners who have not signed: {missing}. "
        f"Send one of them the file: zuno safe export {plan.number} FILE"
    )


def signing_wallets(session: Session) -> tuple[Address, ...]:
    """Those that sign here, the current one first."""
    book = read_book(session.home.keystore)
    found = [wallet.address for wallet in book.wallets if not wallet.watch_only]
    demo = network_named(EMBEDDED).default_address
    if session.network.clock == "head" and demo is not None and demo not in found:
        found.append(demo)
    return tuple(sorted(found, key=lambda address: address != book.current))


def next_step(session: Session, plan: SafePlan, facts: SafeFacts) -> str:
    """Who can sign here goes first; the others get a file."""
    missing = facts.threshold - len(plan.signed_by(facts))
    if missing <= 0:
        return f"Enough have signed: zuno safe execute {plan.number}"
    here = [
        each
        for each in signing_wallets(session)
        if each in facts.owners and each not in plan.signatures
    ]
    export = f"zuno safe export {plan.number} FILE"
    if not here:
        return f"{missing} more to sign: {export}, for them"
    return f"{missing} more to sign. Here: zuno approve {plan.plan_id}. Elsewhere: {export}"


def sign(
    session: Session, judgment: SafeJudgment, given: GivenApproval, signer: Signer
) -> SafePlan:
    """The signature is made, the approval used up, and only then the signature kept."""
    plan, facts = judgment.plan, judgment.facts
    _refuse_stranger(facts, signer.address)
    refuse_used_nonce(plan, facts)
    made = plan.transaction
    signature = signer.sign_typed_data(safe_data(made))
    if signer_of(made.hash, signature) != signer.address:
        raise GateRefusedError("The signature is not of this transaction. It was dropped.")
    with Outbox.open(session.home.outbox) as outbox:
        outbox.use(given.hash, now=judgment.now)
    return keep(session, SafePlan(plan.number, made, {signer.address: signature}))


def _refuse_stranger(facts: SafeFacts, address: Address) -> None:
    if address not in facts.owners:
        raise GateRefusedError(
            f"{checksum(address)} is no owner of the Safe any more. Nothing was signed."
        )


def safe_data(made: SafeTransaction) -> TypedData:
    """As devices and programs are given it."""
    document: dict[str, Json] = {
        "types": {
            "EIP712Domain": [
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "SafeTx": [{"name": name, "type": kind} for name, kind in FIELDS],
        },
        "primaryType": "SafeTx",
        "domain": {"chainId": made.chain_id, "verifyingContract": made.safe},
        "message": {
            "to": made.to,
            "value": str(made.value),
            "data": "0x" + made.data.hex(),
            "operation": made.operation,
            "safeTxGas": "0",
            "baseGas": "0",
            "gasPrice": "0",
            "gasToken": "0x" + "00" * 20,
            "refundReceiver": "0x" + "00" * 20,
            "nonce": str(made.nonce),
        },
    }
    return TypedData(made.domain_hash, made.message_hash, document)
