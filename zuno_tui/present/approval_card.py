"""An approval in the shell: the page that the desk shows, and the document behind it."""

from chain.base.units import time_text
from chain.contracts.networks import Address
from chain.execution.decode.words import field_table
from zuno_tui.gate.actions.action import SwapQuotes
from zuno_tui.gate.dry_run import Approved, DryRun
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.approval_view import SigningKey, approved_view
from zuno_tui.present.document import document, parts
from zuno_tui.present.output import Json
from zuno_tui.present.receipt_lines import page_text, receipt_document


def approval_answer(approved: Approved, wallet: Address, key: SigningKey) -> CommandAnswer:
    prepared = approved.dry_run.prepared
    expires = prepared.bounds.expires_at
    view = approved_view(approved.dry_run, approved.hash, wallet, key)
    return CommandAnswer(
        lines=(
            *page_text(view),
            f"expires     {time_text(expires)}",
            f"next        zuno apply {prepared.action.plan_id}",
        ),
        document={
            **_document(approved.dry_run),
            "receipt": receipt_document(view),
            "hash": approved.hash,
            "expiresAt": expires,
        },
    )


def dry_run_answer(dry_run: DryRun, wallet: Address, key: SigningKey) -> CommandAnswer:
    view = approved_view(dry_run, "", wallet, key)
    return CommandAnswer(
        tuple(page_text(view)), {**_document(dry_run), "receipt": receipt_document(view)}
    )


def _document(dry_run: DryRun) -> dict[str, Json]:
    prepared, action = dry_run.prepared, dry_run.prepared.action
    quoted = prepared.simulation.all_changes(action.tokens)
    return {
        **parts(action, "plan_id", "headline", "tokens"),
        "block": action.subject.block.number,
        "blockHash": action.subject.block.hash,
        "gas": document(prepared.gas, "total", "exceeds_moved"),
        "simulation": document(prepared.simulation),
        "quoted": None
        if quoted is None
        else {token: str(amount) for token, amount in quoted.items()},
        "driftBips": float(prepared.built.tolerance.slippage_bips),
        "bounds": [{"step": each.step, **document(each.bounds)} for each in prepared.built.bounds],
        "grants": [document(grant) for grant in prepared.built.grants],
        "transactions": [
            {
                **document(step.transaction),
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
        "agreement": document(dry_run.agreement, "alone"),
        "words": [
            f"{step}: {sentence}" for step, sentences in dry_run.words for sentence in sentences
        ],
        "warnings": list(dry_run.warnings),
    }


def _quotes(quotes: SwapQuotes) -> dict[str, Json]:
    return {
        "poolId": quotes.swap.pool.pool_id,
        **parts(quotes.swap, "zero_for_one", "amount_in", "amount_out"),
        "replayed": str(quotes.replayed),
        "byQuoter": {pool.pool_id: str(amount) for pool, amount in quotes.by_quoter.items()},
    }
