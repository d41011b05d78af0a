"""What is approved, as card and confirmation show it: words from bytes, outcome from a trial."""

from collections.abc import Sequence

from msgspec import Struct

from chain.base.home import Home
from chain.contracts.addresses import checksummed
from chain.contracts.networks import Address, Network, network_named
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.parties import parties_of
from chain.execution.decode.records import DecodedStep
from chain.execution.decode.words import names_on
from chain.execution.simulate import Simulation
from chain.rpc.records import Block
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.demo import DEMO_NETWORK
from zuno_tui.gate.apply import WaitingApproval
from zuno_tui.gate.dry_run import Approved
from zuno_tui.gate.resume import Replacement
from zuno_tui.gate.worth import ActionWorth
from zuno_tui.present import signing
from zuno_tui.present.approval_card import outcome_lines
from zuno_tui.present.receipt import (
    ReceiptFacts,
    given_right,
    lost_right,
    receipt_of,
    step_brief,
    step_part,
)
from zuno_tui.present.views import ApprovalView, StepView


class SigningKey(Struct, frozen=True):
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
        case KeyStorage.KEYRING:
            return SigningKey(f"{known.name}, in the system's keyring")
        case KeyStorage.FILE:
            return SigningKey(f"{known.name}, in an encrypted file", needs_passphrase=True)
        case KeyStorage.NOWHERE:
            return SigningKey(f"nothing: {known.name} is watch-only", can_sign=False)


def approved_view(approved: Approved, wallet: Address, key: SigningKey) -> ApprovalView:
    """Right after approving, with everything the trial showed."""
    dry_run = approved.dry_run
    prepared = dry_run.prepared
    parties, network, action = parties_of(prepared.steps), prepared.facts.network, prepared.action
    facts = ReceiptFacts(
        network=network,
        names=names_on(network, wallet, dry_run.tokens),
        steps=single_calls(prepared.steps),
        changes=prepared.simulation.all_changes(dry_run.tokens),
        gas=prepared.gas.total,
        pool=action.subject.pool,
        usd_per_unit=action.usd_per_unit,
        usd_per_wei=action.usd_per_wei,
        positions=action.subject.positions,
        expected_gas=expected_gas(prepared.simulation, prepared.steps, action.subject.block),
        planned_cost=action.planned_cost,
    )
    return ApprovalView(
        plan_id=action.plan_id,
        headline=action.headline,
        hash=approved.hash,
        expires_at=float(prepared.bounds.expires_at),
        steps=_steps(dry_run.words, facts),
        receipt=receipt_of(facts),
        outcome=(
            *(f"! {warning}" for warning in dry_run.warnings),
            *(line.strip() for line in outcome_lines(dry_run)),
        ),
        wallet=checksummed(wallet),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(parties),
        terms=signing.terms(
            network,
            parties,
            prepared.gas,
            dry_run.tokens,
            account_code=prepared.circumstances.account_code,
        ),
        as_one=parties.batched > 0,
        executor=signing.executor(network, parties),
        could_be_one=signing.could_be_one(network, parties, prepared.circumstances.account_code),
    )


def waiting_view(
    waiting: WaitingApproval,
    network: Network,
    key: SigningKey,
    worth: ActionWorth,
    *,
    planned_cost: float | None = None,
) -> ApprovalView:
    """Before signing: the words out of the journal's bytes, the outcome by a trial made then."""
    approval, judgment = waiting.approval, waiting.judgment
    facts = ReceiptFacts(
        network=network,
        names=names_on(network, judgment.parties.sender, waiting.tokens),
        steps=single_calls(judgment.steps),
        changes=waiting.changes,
        gas=judgment.gas.total,
        pool=judgment.basis.subject.pool,
        usd_per_unit=worth.usd_per_unit,
        usd_per_wei=worth.usd_per_wei,
        positions=judgment.basis.subject.positions,
        expected_gas=expected_gas(
            judgment.basis.simulation, judgment.steps, judgment.basis.subject.block
        ),
        planned_cost=planned_cost,
    )
    return ApprovalView(
        plan_id=approval.plan_id,
        headline=approval.headline,
        hash=approval.hash,
        expires_at=float(approval.bounds.expires_at),
        seconds_left=float(approval.bounds.expires_at - judgment.now),
        steps=_steps(waiting.words, facts),
        receipt=receipt_of(facts),
        outcome=tuple(line.strip() for line in signing.outcome_lines(waiting)),
        wallet=checksummed(judgment.parties.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(judgment.parties),
        terms=signing.terms(
            network,
            judgment.parties,
            judgment.gas,
            waiting.tokens,
            account_code=judgment.basis.circumstances.account_code,
        ),
        word=waiting.word,
        as_one=judgment.parties.batched > 0,
        executor=signing.executor(network, judgment.parties),
        could_be_one=signing.could_be_one(
            network, judgment.parties, judgment.basis.circumstances.account_code
        ),
    )


_AUTHORIZATION_GAS = 12_500
"""What lending an account costs beside the transaction, which no trial counts."""


def expected_gas(simulation: Simulation, steps: Sequence[DecodedStep], block: Block) -> int | None:
    """Wei at the present base fee and the offered priority; None where not all was tried."""
    base = block.base_fee_per_gas
    if base is None or len(simulation.steps) != len(steps):
        return None
    return sum(
        (tried.gas_used + (_AUTHORIZATION_GAS if step.transaction.authorization else 0))
        * min(step.transaction.max_fee_per_gas, base + step.transaction.max_priority_fee_per_gas)
        for tried, step in zip(simulation.steps, steps, strict=True)
    )


def replacement_view(
    replacement: Replacement, network: Network, key: SigningKey, *, expires_at: float
) -> ApprovalView:
    """What waits in a pool, to be cancelled or sped up by that very word."""
    dispatch, step = replacement.dispatch, replacement.step
    host = dispatch.private_host
    return ApprovalView(
        plan_id=dispatch.plan_id,
        headline=f"{replacement.action} {step.title} of {dispatch.plan_id}",
        hash=replacement.transaction.digest,
        expires_at=expires_at,
        steps=(StepView(step.title, (replacement.words,)),),
        outcome=() if host is None else (f"Sent through {host} alone.",),
        wallet=checksummed(dispatch.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        word=replacement.action,
        recipients=signing.recipients(replacement.parties),
        terms=signing.terms(network, replacement.parties, replacement.gas, {}),
    )


def _steps(
    words: Sequence[tuple[str, tuple[str, ...]]], facts: ReceiptFacts
) -> tuple[StepView, ...]:
    return tuple(
        StepView(
            name,
            sentences,
            step_brief(step, facts),
            step_part(step),
            lost_right(step, facts),
            given_right(step, facts),
        )
        for (name, sentences), step in zip(words, facts.steps, strict=True)
    )
