"""What is approved, as card and confirmation show it: words from bytes, outcome from a trial."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from chain.base.home import Home
from chain.base.units import time_text
from chain.contracts.addresses import checksum, keccak
from chain.contracts.networks import Address, Network, network_named
from chain.execution import protocols
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.parties import parties_of
from chain.execution.decode.titles import name_title
from chain.execution.decode.words import names_on
from chain.execution.plan.records import DecodedStep
from chain.execution.simulate import Simulation
from chain.execution.transaction import UnsignedTransaction
from chain.math.liquidity import Amounts
from chain.rpc.records import Block
from chain.tokens.token import amount_text
from chain.wallet.address_book import KeyStorage, Wallet, read_book
from chain.wallet.demo import DEMO_NETWORK
from chain.wallet.key_holder import unsigned_bytes
from zuno_tui.gate.apply import WaitingApproval
from zuno_tui.gate.contract_code import trust_words
from zuno_tui.gate.dry_run import DryRun
from zuno_tui.gate.resume import Replacement
from zuno_tui.gate.worth import ActionWorth
from zuno_tui.present import signing
from zuno_tui.present.receipt import (
    ReceiptFacts,
    given_right,
    lost_right,
    receipt_of,
    step_brief,
    step_part,
)
from zuno_tui.present.signing import GAS_EXCEEDS, Term, trial_lines
from zuno_tui.present.views import ApprovalView, StepView
from zuno_tui.present.words import UNKNOWN, most_coin


class SigningKey(Struct, frozen=True):
    words: str
    can_sign: bool = True
    needs_passphrase: bool = False
    device: str = ""
    """Where the person compares hashes, such as `the Ledger`; empty for a key that is here."""
    can_lend: bool = True
    """Whether it can sign that the account runs another's code."""

    def device_hashes(self, transactions: Iterable[UnsignedTransaction]) -> tuple[Term, ...]:
        """The very hashes that the device shows; one that follows from another signature is
        told when it is asked for."""
        if not self.device:
            return ()
        each = [
            f"{name_title(step.step)}: its transaction hash is shown when the delegation is signed"
            if step.authorization is not None
            else f"{name_title(step.step)}: transaction hash 0x{keccak(unsigned_bytes(step)).hex()}"
            for step in transactions
        ]
        return tuple(
            Term("compare" if not place else "", words) for place, words in enumerate(each)
        )


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
    return _key_of(known)


def _key_of(wallet: Wallet) -> SigningKey:
    match wallet.keeping:
        case KeyStorage.KEYRING:
            return SigningKey(f"{wallet.name}, in the system's keyring")
        case KeyStorage.FILE:
            return SigningKey(f"{wallet.name}, in an encrypted file", needs_passphrase=True)
        case KeyStorage.LEDGER:
            return SigningKey(f"{wallet.name}, on the Ledger at {wallet.path}", device="the Ledger")
        case KeyStorage.PROGRAM:
            return SigningKey(
                f"{wallet.name}, by the program that wallet.signer names", can_lend=False
            )
        case KeyStorage.SAFE:
            return SigningKey(f"nothing: the owners of {wallet.name} sign", can_sign=False)
        case KeyStorage.NOWHERE:
            return SigningKey(f"nothing: {wallet.name} is watch-only", can_sign=False)


def approved_view(
    dry_run: DryRun, approval_hash: str, wallet: Address, key: SigningKey
) -> ApprovalView:
    """Right after approving, with everything the trial showed; without a hash nothing waits."""
    prepared = dry_run.prepared
    parties, network, action = parties_of(prepared.steps), prepared.facts.network, prepared.action
    facts = ReceiptFacts(
        network=network,
        names=names_on(network, wallet, dry_run.tokens, action.subject.positions),
        steps=single_calls(prepared.steps),
        changes=prepared.simulation.all_changes(dry_run.tokens),
        gas=prepared.gas.total,
        pool=action.subject.pool,
        usd_per_unit=action.usd_per_unit,
        usd_per_wei=action.usd_per_wei,
        positions=action.subject.positions,
        expected_gas=expected_gas(prepared.simulation, prepared.steps, action.subject.block),
        planned_cost=action.planned_cost,
        made=prepared.simulation.liquidity_made(protocols.managers(network)),
    )
    could_be_one = key.can_lend and signing.could_be_one(
        network, parties, prepared.circumstances.account_code
    )
    return ApprovalView(
        plan_id=action.plan_id,
        headline=action.headline,
        hash=approval_hash,
        expires_at=float(prepared.bounds.expires_at),
        steps=_steps(dry_run.words, facts),
        receipt=receipt_of(facts),
        outcome=(
            *(f"! {warning}" for warning in dry_run.warnings),
            *(line.strip() for line in outcome_lines(dry_run)),
        ),
        wallet=checksum(wallet),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(parties),
        terms=(
            *key.device_hashes(step.transaction for step in prepared.steps),
            *signing.terms(
                network,
                parties,
                prepared.gas,
                dry_run.tokens,
                could_be_one=could_be_one,
            ),
        ),
        as_one=parties.batched > 0,
        executor=signing.executor(network, parties),
        could_be_one=could_be_one,
    )


def waiting_view(
    waiting: WaitingApproval,
    network: Network,
    key: SigningKey,
    worth: ActionWorth,
) -> ApprovalView:
    """Before signing: the words out of the journal's bytes, the outcome by a trial made then."""
    approval, judgment = waiting.approval, waiting.judgment
    facts = ReceiptFacts(
        network=network,
        names=names_on(
            network,
            judgment.parties.sender,
            waiting.tokens,
            judgment.basis.subject.positions,
        ),
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
        planned_cost=approval.planned_cost,
        made=judgment.basis.simulation.liquidity_made(protocols.managers(network)),
    )
    could_be_one = key.can_lend and signing.could_be_one(
        network, judgment.parties, judgment.basis.circumstances.account_code
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
        wallet=checksum(judgment.parties.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=signing.recipients(judgment.parties),
        terms=(
            *key.device_hashes(step.transaction for step in judgment.steps),
            *signing.terms(
                network,
                judgment.parties,
                judgment.gas,
                waiting.tokens,
                could_be_one=could_be_one,
            ),
        ),
        word=waiting.word,
        as_one=judgment.parties.batched > 0,
        executor=signing.executor(network, judgment.parties),
        could_be_one=could_be_one,
    )


_AUTHORIZATION_GAS, _GIVEN_BACK, _MOST_GIVEN_BACK = 25_000, 12_500, 5
"""What lending an account costs beside the transaction, which no trial counts: a half is given back
for an account that exists, but never more than a fifth of all that was used (EIP-7702, 3529)."""


def expected_gas(simulation: Simulation, steps: Sequence[DecodedStep], block: Block) -> int | None:
    """Wei at the present base fee and the offered priority; None where not all was tried."""
    base = block.base_fee_per_gas
    if base is None or len(simulation.steps) != len(steps):
        return None
    return sum(
        (_lending_gas(tried.gas_used) if step.transaction.authorization else tried.gas_used)
        * min(step.transaction.max_fee_per_gas, base + step.transaction.max_priority_fee_per_gas)
        for tried, step in zip(simulation.steps, steps, strict=True)
    )


def _lending_gas(tried: int) -> int:
    used = tried + _AUTHORIZATION_GAS
    return used - min(_GIVEN_BACK, used // _MOST_GIVEN_BACK)


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
        wallet=checksum(dispatch.sender),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        word=replacement.action,
        recipients=signing.recipients(replacement.parties),
        terms=(
            *key.device_hashes([replacement.transaction]),
            *signing.terms(network, replacement.parties, replacement.gas, {}),
        ),
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


def outcome_lines(dry_run: DryRun) -> Iterator[str]:
    """What leaves and what comes, within which bounds, at what cost, on whose word; unbroken."""
    if dry_run.prepared.in_steps:
        yield dry_run.prepared.in_steps
    for line in trial_lines(dry_run.prepared.simulation, dry_run.tokens):
        yield f"  {line}"
    yield from _swap(dry_run)
    yield from _bounds(dry_run)
    yield from _cost(dry_run)
    yield from _trust(dry_run)


def _swap(dry_run: DryRun) -> Iterator[str]:
    quotes = dry_run.prepared.action.quotes
    if quotes is not None:
        key, swap = quotes.pool.key, quotes.swap
        bought = dry_run.tokens[key.currency1 if swap.zero_for_one else key.currency0]
        yield f"  {quotes.words(lambda units: amount_text(units, bought))}"


def _bounds(dry_run: DryRun) -> Iterator[str]:
    for step in dry_run.prepared.built.bounds:
        least, title = step.bounds, name_title(step.step)
        if any(least.paid):
            yield f"  {title}: at least {_both(least.paid, dry_run)} comes out."
        if any(least.taken):
            yield f"  {title}: at most {_both(least.taken, dry_run)} goes in."
        if any(least.besides):
            yield (
                f"  {title}: up to {_both(least.besides, dry_run)} more from your wallet goes "
                "along, so that a moving price does not stop it; what the range does not take "
                "comes back."
            )
    if dry_run.prepared.action.subject.pool is not None:
        drift = float(dry_run.prepared.built.tolerance.slippage_bips) / 100
        yield f"  Refused when the price has moved by more than {drift:.3g}%."
    for grant in dry_run.prepared.built.grants:
        told = amount_text(grant.amount, dry_run.tokens[grant.token])
        yield f"  Allowed through Permit2: {told} until {time_text(grant.expiration)}."


def _both(amounts: Amounts, dry_run: DryRun) -> str:
    pair = dry_run.prepared.action.tokens[:2]
    return " and ".join(
        amount_text(amount, dry_run.tokens[token])
        for amount, token in zip(amounts, pair, strict=True)
    )


def _cost(dry_run: DryRun) -> Iterator[str]:
    prepared = dry_run.prepared
    most = prepared.gas.total
    rate = prepared.action.usd_per_wei
    usd = UNKNOWN + " in dollars" if rate is None else f"${most * rate:,.4f}"
    coin = prepared.facts.network.native_symbol
    yield f"  Gas costs at most {most_coin(most)} {coin} ({usd})."
    if prepared.gas.exceeds_moved:
        yield f"  ! {GAS_EXCEEDS}"


def _trust(dry_run: DryRun) -> Iterator[str]:
    if dry_run.private_host is not None:
        yield f"  Sent through {dry_run.private_host} alone."
    yield f"  {dry_run.agreement.words}"
    prepared = dry_run.prepared
    for words in trust_words(prepared.facts.network, prepared.codes):
        yield f"  {words}"
