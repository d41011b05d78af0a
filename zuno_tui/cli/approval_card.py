"""An approval as it is shown: what it does in words, what leaves and comes, what it costs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chain.execution.words import field_table
from chain.tokens.token import amount_text
from zuno_tui.cli.output import print_json, print_lines
from zuno_tui.cli.transcript import wrapped
from zuno_tui.gate.contract_code import trust_words
from zuno_tui.shown.signing import GAS_EXCEEDS, trial_lines
from zuno_tui.words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.execution.recipes import Bounds
    from chain.math.liquidity import Amounts
    from zuno_tui.cli.output import Json
    from zuno_tui.gate.approving import Approved, Rehearsal
    from zuno_tui.gate.swap_pools import SwapQuotes
    from zuno_tui.session import Session


def show_approval(session: Session, approved: Approved) -> None:
    if session.as_json:
        expires = approved.rehearsal.prepared.bounds.expires_at
        document = _document(approved.rehearsal)
        print_json({**document, "hash": approved.hash, "expiresAt": expires})
        return
    prepared = approved.rehearsal.prepared
    ends = datetime.fromtimestamp(prepared.bounds.expires_at, UTC)
    print_lines(
        [
            *rehearsal_lines(approved.rehearsal),
            "",
            f"  hash     {approved.hash}",
            f"  expires  {ends:%Y-%m-%d %H:%M:%S} UTC",
            f"  next     zuno apply {prepared.wish.plan_id}",
        ]
    )


def show_rehearsal(session: Session, rehearsal: Rehearsal) -> None:
    if session.as_json:
        print_json(_document(rehearsal))
    else:
        print_lines(rehearsal_lines(rehearsal))


def rehearsal_lines(rehearsal: Rehearsal) -> Iterator[str]:
    wish = rehearsal.prepared.wish
    yield f"{wish.headline} · {wish.plan_id} · block {wish.subject.block.number:,}"
    yield ""
    yield from word_lines(rehearsal.words)
    yield from warning_lines(rehearsal.warnings)
    yield ""
    yield from (wrapped(line, indent=2) for line in outcome_lines(rehearsal))


def outcome_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """What leaves and what comes, within which bounds, at what cost, on whose word; unbroken."""
    for line in trial_lines(rehearsal.prepared.simulation, rehearsal.tokens):
        yield f"  {line}"
    yield from _swap(rehearsal)
    yield from _bounds(rehearsal)
    yield from _cost(rehearsal)
    yield from _trust(rehearsal)


def word_lines(words: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for place, (step, sentences) in enumerate(words, 1):
        yield f"  {place}. {step}"
        for sentence in sentences:
            yield wrapped(f"     {sentence}", indent=5)


def warning_lines(warnings: Sequence[str]) -> Iterator[str]:
    for sentence in warnings:
        yield wrapped(f"  ! {sentence}", indent=4)


def _swap(rehearsal: Rehearsal) -> Iterator[str]:
    quotes = rehearsal.prepared.wish.quotes
    if quotes is not None:
        key, swap = quotes.pool.key, quotes.swap
        bought = rehearsal.tokens[key.currency1 if swap.zero_for_one else key.currency0]
        yield f"  {quotes.words(lambda units: amount_text(units, bought))}"


def _bounds(rehearsal: Rehearsal) -> Iterator[str]:
    for step in rehearsal.prepared.built.bounds:
        least = step.bounds
        for promise, amounts in (("pays at least", least.paid), ("takes at most", least.taken)):
            if any(amounts):
                yield f"  {step.step} {promise} {_both(amounts, rehearsal)}."
        if any(least.besides):
            yield (
                f"  {step.step} moves up to {_both(least.besides, rehearsal)} along of what you "
                "hold besides, so that a moving price does not stop it; what the range does not "
                "take comes back."
            )
    if rehearsal.prepared.wish.subject.pool is not None:
        drift = float(rehearsal.prepared.built.tolerance.slippage_bips) / 100
        yield f"  Refused when the price has moved by more than {drift:.3g} %."
    for grant in rehearsal.prepared.built.grants:
        told = amount_text(grant.amount, rehearsal.tokens[grant.token])
        ends = datetime.fromtimestamp(grant.expiration, UTC)
        yield f"  Allowed through Permit2: {told} until {ends:%Y-%m-%d %H:%M:%S} UTC."


def _both(amounts: Amounts, rehearsal: Rehearsal) -> str:
    pair = rehearsal.prepared.wish.tokens[:2]
    return " and ".join(
        amount_text(amount, rehearsal.tokens[token])
        for amount, token in zip(amounts, pair, strict=True)
    )


def _cost(rehearsal: Rehearsal) -> Iterator[str]:
    prepared = rehearsal.prepared
    most = prepared.gas.total
    rate = prepared.wish.usd_per_wei
    usd = UNKNOWN + " in dollars" if rate is None else f"${most * rate:,.4f}"
    coin = prepared.facts.network.native_symbol
    yield f"  Gas costs at most {most / 10**18:.6f} {coin} ({usd})."
    if prepared.gas.exceeds_moved:
        yield f"  ! {GAS_EXCEEDS}"


def _trust(rehearsal: Rehearsal) -> Iterator[str]:
    if rehearsal.private_host is not None:
        yield f"  Sent through {rehearsal.private_host} alone."
    yield f"  {rehearsal.agreement.words}"
    prepared = rehearsal.prepared
    for words in trust_words(prepared.facts.network, prepared.codes):
        yield f"  {words}"


def _document(rehearsal: Rehearsal) -> dict[str, Json]:
    prepared, wish = rehearsal.prepared, rehearsal.prepared.wish
    quoted = prepared.simulation.all_changes(wish.tokens)
    return {
        "planId": wish.plan_id,
        "headline": wish.headline,
        "block": wish.subject.block.number,
        "blockHash": wish.subject.block.hash,
        "tokens": list(wish.tokens),
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
            {
                "token": grant.token,
                "spender": grant.spender,
                "amount": str(grant.amount),
                "expiration": grant.expiration,
            }
            for grant in prepared.built.grants
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
        "swap": None if wish.quotes is None else _quotes(wish.quotes),
        "sentThrough": rehearsal.private_host,
        "code": {
            address: "shipped" if address in prepared.codes.shipped else "first met"
            for address in prepared.codes.pinned
        },
        "agreement": {
            "agreed": list(rehearsal.agreement.agreed),
            "silent": [one.host for one in rehearsal.agreement.silent],
            "alone": rehearsal.agreement.alone,
        },
        "words": [
            f"{step}: {sentence}" for step, sentences in rehearsal.words for sentence in sentences
        ],
        "warnings": list(rehearsal.warnings),
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


def _minimums(least: Bounds) -> dict[str, Json]:
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
