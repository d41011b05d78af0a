"""An approval as it is shown: what it does in words, what leaves and comes, what it costs."""

from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from chain.base.units import time_text
from chain.execution.build.recipes import RecipeBounds
from chain.execution.decode.parties import parties_of
from chain.execution.decode.titles import name_title
from chain.execution.decode.words import field_table
from chain.math.liquidity import Amounts
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.swap import SwapQuotes
from zuno_tui.gate.contract_code import trust_words
from zuno_tui.gate.dry_run import Approved, DryRun
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json
from zuno_tui.present.signing import GAS_EXCEEDS, trial_lines
from zuno_tui.present.transcript import wrapped
from zuno_tui.present.words import UNKNOWN


def approval_answer(approved: Approved) -> CommandAnswer:
    prepared = approved.dry_run.prepared
    expires = prepared.bounds.expires_at
    return CommandAnswer(
        lines=(
            *dry_run_lines(approved.dry_run),
            "",
            f"  hash     {approved.hash}",
            f"  expires  {time_text(expires)}",
            f"  next     zuno apply {prepared.action.plan_id}",
        ),
        document={**_document(approved.dry_run), "hash": approved.hash, "expiresAt": expires},
    )


def dry_run_answer(dry_run: DryRun) -> CommandAnswer:
    return CommandAnswer(tuple(dry_run_lines(dry_run)), _document(dry_run))


def dry_run_lines(dry_run: DryRun) -> Iterator[str]:
    action = dry_run.prepared.action
    yield f"{action.headline} · {action.plan_id} · block {action.subject.block.number:,}"
    batched = parties_of(dry_run.prepared.steps).batched
    if batched:
        yield f"1 transaction, {batched} steps, all or nothing."
    elif dry_run.prepared.in_steps:
        yield dry_run.prepared.in_steps
    yield ""
    yield from word_lines(dry_run.words)
    yield from warning_lines(dry_run.warnings)
    yield ""
    yield from (wrapped(line, indent=2) for line in outcome_lines(dry_run))


def outcome_lines(dry_run: DryRun) -> Iterator[str]:
    """What leaves and what comes, within which bounds, at what cost, on whose word; unbroken."""
    for line in trial_lines(dry_run.prepared.simulation, dry_run.tokens):
        yield f"  {line}"
    yield from _swap(dry_run)
    yield from _bounds(dry_run)
    yield from _cost(dry_run)
    yield from _trust(dry_run)


def word_lines(words: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for place, (step, sentences) in enumerate(words, 1):
        yield f"  {place}. {step}"
        for sentence in sentences:
            yield wrapped(f"     {sentence}", indent=5)


def warning_lines(warnings: Sequence[str]) -> Iterator[str]:
    for sentence in warnings:
        yield wrapped(f"  ! {sentence}", indent=4)


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
    yield f"  Gas costs at most {most / 10**18:.6f} {coin} ({usd})."
    if prepared.gas.exceeds_moved:
        yield f"  ! {GAS_EXCEEDS}"


def _trust(dry_run: DryRun) -> Iterator[str]:
    if dry_run.private_host is not None:
        yield f"  Sent through {dry_run.private_host} alone."
    yield f"  {dry_run.agreement.words}"
    prepared = dry_run.prepared
    for words in trust_words(prepared.facts.network, prepared.codes):
        yield f"  {words}"


def _document(dry_run: DryRun) -> dict[str, Json]:
    prepared, action = dry_run.prepared, dry_run.prepared.action
    quoted = prepared.simulation.all_changes(action.tokens)
    return {
        "planId": action.plan_id,
        "headline": action.headline,
        "block": action.subject.block.number,
        "blockHash": action.subject.block.hash,
        "tokens": list(action.tokens),
        "gas": {
            "execution": str(prepared.gas.execution),
            "l1Data": str(prepared.gas.l1_data),
            "operator": str(prepared.gas.operator),
            "total": str(prepared.gas.total),
            "exceedsMoved": prepared.gas.exceeds_moved,
        },
        "simulation": {
            "method": prepared.simulation.method,
            "reason": prepared.simulation.reason,
            "unsimulated": list(prepared.simulation.unsimulated),
            "steps": [
                {
                    "step": step.step,
                    "gasUsed": step.gas_used,
                    "changes": {token: str(amount) for token, amount in step.changes.items()},
                }
                for step in prepared.simulation.steps
            ],
        },
        "quoted": None
        if quoted is None
        else {token: str(amount) for token, amount in quoted.items()},
        "driftBips": float(prepared.built.tolerance.slippage_bips),
        "bounds": [{"step": each.step, **_minimums(each.bounds)} for each in prepared.built.bounds],
        "grants": [
            {**to_builtins(grant), "amount": str(grant.amount)} for grant in prepared.built.grants
        ],
        "transactions": [
            {
                "step": step.transaction.step,
                "to": step.transaction.to,
                "value": str(step.transaction.value),
                "data": "0x" + step.transaction.data.hex(),
                "gas": step.transaction.gas,
                "maxFeePerGas": str(step.transaction.max_fee_per_gas),
                "maxPriorityFeePerGas": str(step.transaction.max_priority_fee_per_gas),
                "nonce": step.transaction.nonce,
                "fields": [[field.name, field.value] for field in field_table(step)],
            }
            for step in prepared.steps
        ],
        "swap": None if action.quotes is None else _quotes(action.quotes),
        "sentThrough": dry_run.private_host,
        "code": {
            address: "shipped" if address in prepared.codes.shipped else "first met"
            for address in prepared.codes.pinned
        },
        "agreement": {
            "agreed": list(dry_run.agreement.agreed),
            "silent": [witness.host for witness in dry_run.agreement.silent],
            "alone": dry_run.agreement.alone,
            "tried": list(dry_run.agreement.tried),
        },
        "words": [
            f"{step}: {sentence}" for step, sentences in dry_run.words for sentence in sentences
        ],
        "warnings": list(dry_run.warnings),
    }


def _quotes(quotes: SwapQuotes) -> dict[str, Json]:
    return {
        "poolId": quotes.swap.pool.pool_id,
        "zeroForOne": quotes.swap.zero_for_one,
        "amountIn": str(quotes.swap.amount_in),
        "amountOut": str(quotes.swap.amount_out),
        "replayed": str(quotes.replayed),
        "byQuoter": {pool.pool_id: str(amount) for pool, amount in quotes.by_quoter.items()},
    }


def _minimums(least: RecipeBounds) -> dict[str, Json]:
    return {
        "paid0": str(least.paid.amount0),
        "paid1": str(least.paid.amount1),
        "taken0": str(least.taken.amount0),
        "taken1": str(least.taken.amount1),
        "liquidity": str(least.liquidity),
        "besides0": str(least.besides.amount0),
        "besides1": str(least.besides.amount1),
        "sold": str(least.sold),
        "bought": str(least.bought),
    }
