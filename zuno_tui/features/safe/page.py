"""The page of a Safe's transaction, drawn from its judgment, with what owners compare."""

from collections.abc import Iterator

from chain.base.units import time_text
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.execution import protocols
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.titles import step_title
from chain.execution.decode.words import describe
from chain.safe.plans import SafePlan
from zuno_tui.app.safe_wallet import warnings_of
from zuno_tui.features.safe.judging import SafeJudgment
from zuno_tui.gate.contract_code import trust_words
from zuno_tui.present import signing
from zuno_tui.present.approval_view import SigningKey
from zuno_tui.present.document import document, parts
from zuno_tui.present.output import Json
from zuno_tui.present.receipt import (
    ReceiptFacts,
    given_right,
    lost_right,
    receipt_of,
    step_brief,
    step_part,
)
from zuno_tui.present.signing import Term, trial_lines
from zuno_tui.present.views import ApprovalView, PageWords, StepView

SIGN, EXECUTE = "sign", "execute"
_SIGNING = PageWords(
    doing="Sign for the Safe",
    asks="and press Enter to sign. Nothing is sent",
    over="The approval has expired. Nothing was signed. Type approve again.",
    steps=("1 SAFE TRANSACTION", "its calls, all or nothing"),
    terms="THE SAFE, AND WHAT TO COMPARE",
    all_terms=True,
)
_EXECUTING = PageWords(
    doing="Execute for the Safe",
    asks="and press Enter to sign and send",
    steps=("1 SAFE TRANSACTION", "its calls, all or nothing"),
    terms="THE SAFE, AND WHAT TO COMPARE",
    all_terms=True,
)


def headline(judgment: SafeJudgment) -> str:
    words = step_title(judgment.execution.transaction)
    return f"{words[:1].upper()}{words[1:]}"


def safe_view(
    judgment: SafeJudgment,
    key: SigningKey,
    *,
    sealed: str,
    expires_at: float,
    gas: GasBill | None = None,
    signer: Address | None = None,
) -> ApprovalView:
    """With a bill of gas somebody executes it, else one owner signs."""
    facts = _receipt_facts(judgment, gas)
    made = judgment.plan.transaction
    return ApprovalView(
        plan_id=judgment.plan.plan_id,
        headline=headline(judgment),
        hash=sealed,
        expires_at=expires_at,
        seconds_left=expires_at - judgment.now,
        steps=tuple(_steps(judgment, facts)),
        receipt=receipt_of(facts) if judgment.steps else None,
        outcome=tuple(_outcome(judgment)),
        wallet=checksum(made.safe),
        signs_with=f"{checksum(signer)}: {key.words}" if signer else key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(judgment.parties),
        terms=(*hash_terms(judgment.plan), *_terms(judgment, gas)),
        word=SIGN if gas is None else EXECUTE,
        as_one=len(judgment.steps) > 1,
        page=_SIGNING if gas is None else _EXECUTING,
    )


def _receipt_facts(judgment: SafeJudgment, gas: GasBill | None) -> ReceiptFacts:
    subject = None if judgment.basis is None else judgment.basis.subject
    cost = 0 if gas is None else gas.total
    return ReceiptFacts(
        network=judgment.network,
        names=judgment.names,
        steps=judgment.steps,
        changes=judgment.changes,
        gas=cost,
        pool=None if subject is None else subject.pool,
        usd_per_unit=judgment.worth.usd_per_unit,
        usd_per_wei=judgment.worth.usd_per_wei,
        positions={} if subject is None else subject.positions,
        expected_gas=cost,
        made=()
        if judgment.basis is None
        else judgment.basis.simulation.liquidity_made(protocols.managers(judgment.network)),
    )


def _steps(judgment: SafeJudgment, facts: ReceiptFacts) -> Iterator[StepView]:
    for step in judgment.steps:
        yield StepView(
            step_title(step.transaction),
            describe(step, judgment.names),
            step_brief(step, facts),
            step_part(step),
            lost_right(step, facts),
            given_right(step, facts),
        )
    if not judgment.steps:
        words = describe(judgment.execution, judgment.names)
        yield StepView(step_title(judgment.execution.transaction), words, words[0])


def _outcome(judgment: SafeJudgment) -> Iterator[str]:
    yield from warnings_of(judgment.facts)
    if ahead := judgment.plan.transaction.nonce - judgment.facts.nonce:
        yield f"! {ahead} other transaction{'s' * (ahead > 1)} of the Safe must come before it."
    if judgment.basis is not None:
        yield from trial_lines(
            judgment.basis.simulation, judgment.basis.tokens, tried="Tried just now"
        )
    yield judgment.agreement.words
    if judgment.basis is not None:
        yield from trust_words(judgment.network, judgment.basis.codes)


def hash_terms(plan: SafePlan) -> tuple[Term, ...]:
    """What every owner's device or app shows of it."""
    made = plan.transaction
    return (
        Term("domainHash", "0x" + made.domain_hash.hex()),
        Term("messageHash", "0x" + made.message_hash.hex()),
        Term("safeTxHash", "0x" + made.hash.hex()),
    )


def _terms(judgment: SafeJudgment, gas: GasBill | None) -> Iterator[Term]:
    facts, plan = judgment.facts, judgment.plan
    signed = judgment.signers
    yield Term("Safe", f"{checksum(facts.address)}, {facts.version}, nonce {facts.nonce}")
    yield Term("signed by", ", ".join(map(checksum, signed)) or "nobody yet")
    yield Term("needs", f"{facts.threshold} of {len(facts.owners)} owners, {_missing(judgment)}")
    yield Term("executable", executable_words(judgment))
    if not judgment.parties.deadlines and judgment.steps:
        yield Term("deadline", "its calls name none")
    bill = gas or GasBill(0)
    for term in signing.terms(judgment.network, judgment.parties, bill, {}):
        if term.label != "gas":
            yield term
        elif gas is None:
            yield Term("gas", "paid by whoever executes it")
        else:
            yield term
    yield Term("end it", f"safe reject {plan.number}, signed by as many owners")


def _missing(judgment: SafeJudgment) -> str:
    return (
        f"{judgment.missing_signatures} more to sign"
        if judgment.missing_signatures
        else "enough have signed"
    )


def executable_words(judgment: SafeJudgment) -> str:
    """Who can do it, and until when."""
    ends = judgment.parties.deadlines
    until = f"until {time_text(min(ends))}" if ends else "until its nonce is used"
    return f"anybody who has {judgment.facts.threshold} owners' signatures can execute it {until}"


def plan_document(judgment: SafeJudgment) -> dict[str, Json]:
    made = judgment.plan.transaction
    ends = judgment.parties.deadlines
    return {
        **parts(judgment.plan, "number", "plan_id"),
        "headline": headline(judgment),
        **document(made, "domain_hash", "message_hash", without=("chain_id",)),
        "safeTxHash": "0x" + made.hash.hex(),
        **parts(judgment.facts, "threshold", "owners"),
        "signedBy": list(judgment.signers),
        "missing": judgment.missing_signatures,
        "deadline": min(ends) if ends else None,
        "changes": None
        if judgment.changes is None
        else {token: str(amount) for token, amount in judgment.changes.items()},
        "transactions": [document(step.transaction) for step in judgment.steps],
    }
