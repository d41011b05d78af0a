"""A rehearsal in words: its steps, what left and arrived, the position after, the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from chain.contracts.networks import Address, Network
from chain.execution.outbox.records import SUCCEEDED
from chain.positions.overview import OnePosition, Sources, tokens_at
from chain.protocols.reference import position_label
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.result_card import amount_lines, result_document, result_headline
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.position import position_document
from zuno_tui.present.words import signed_amount, worth

if TYPE_CHECKING:
    from zuno_tui.gate.rehearsal import Rehearsal

_AS_APPROVED = "Everything came out exactly as approved. Nothing was signed or sent."


async def rehearsal_answer(sources: Sources, rehearsal: Rehearsal) -> CommandAnswer:
    position = rehearsal.position
    tokens = await tokens_at(sources, rehearsal.result.approval.tokens, rehearsal.block.hash)
    return CommandAnswer(
        lines=tuple(rehearsal_lines(rehearsal, tokens, sources.network)),
        document={
            **result_document(rehearsal.result),
            "asApproved": rehearsal.as_approved,
            "block": rehearsal.block.number,
            "position": None
            if position is None
            else position_document(
                sources.network, position.snapshot, position.tokens, position.prices, position.worth
            ),
        },
        code=DONE if rehearsal.as_approved else FAILED,
    )


def rehearsal_lines(
    rehearsal: Rehearsal, tokens: Mapping[Address, Token], network: Network
) -> Iterator[str]:
    result = rehearsal.result
    yield f"Rehearsal of {result.approval.plan_id} on a copy of block {rehearsal.block.number:,}"
    yield f"  {result.approval.headline}"
    yield ""
    width = max(len(step.title) for step in result.dispatch.steps)
    for done in result.steps:
        status = "succeeds" if done.step.state in SUCCEEDED else "reverts"
        yield f"  {done.step.title:<{width}} {status:<9} {done.gas_used:>9,} gas"
    for step in result.dispatch.steps[len(result.steps) :]:
        yield f"  {step.title:<{width}} not tried"
    if network.stack != "plain":
        yield "  The fee for the data on the parent chain is not included."
    yield ""
    yield from amount_lines(result, tokens, result.approval.quoted)
    yield ""
    if rehearsal.position is not None:
        yield f"  {_position_line(rehearsal, rehearsal.position, network)}"
    yield verdict(rehearsal, tokens)


def verdict(rehearsal: Rehearsal, tokens: Mapping[Address, Token]) -> str:
    if rehearsal.as_approved:
        return _AS_APPROVED
    if not rehearsal.result.is_done:
        return "It would stop part-way. Nothing was signed or sent."
    if rehearsal.result.approval.quoted is None:
        return "Every step succeeds. What it brings was unknown at approval, so nothing compares."
    told = (
        f"{signed_amount(more, tokens[token])} {tokens[token].label}"
        for token, more in rehearsal.differences.items()
    )
    return f"It differs from what was approved: {', '.join(told)}. Nothing was signed or sent."


def _position_line(rehearsal: Rehearsal, position: OnePosition, network: Network) -> str:
    snapshot, tokens = position.snapshot, position.tokens
    key, identity = snapshot.pool.key, snapshot.identity
    pair = pair_of(
        network, tokens[key.currency0], tokens[key.currency1], snapshot.pool.sqrt_price_x96
    )
    low, high = pair.bounds(identity.tick_lower, identity.tick_upper)
    headline = result_headline(rehearsal.result) or position_label(identity.ref)
    quoted = f"{pair.quote.label} per {pair.base.label}"
    return f"{headline}: {low} to {high} {quoted}, {worth(position.worth.total, rehearsal.unit)}"
