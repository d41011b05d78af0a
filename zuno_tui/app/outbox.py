"""`zuno outbox`: everything that was approved or sent, where it stands, and what can be done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.execution.outbox.outbox import Outbox
from zuno_tui.app.session import Session, say
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import UnsettledStep, look_at_outbox, remember_heard, stands
from zuno_tui.present.aftermath_document import aftermath_document
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json, OutputColumn, print_json, print_lines, table

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.execution.outbox.records import Dispatch

_COLUMNS = (
    OutputColumn("PLAN"),
    OutputColumn("HASH"),
    OutputColumn("STATE"),
    OutputColumn("STEPS"),
)
_SHORT_HASH = 12
RESUME, RESOLVE = "resume", "resolve"


def run(arguments: Namespace) -> int:
    return asyncio.run(_outbox(Session.start(arguments), arguments))


async def _outbox(session: Session, arguments: Namespace) -> int:
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            if arguments.action == RESUME:
                from zuno_tui.app.outbox_resuming import resume_missing

                return await resume_missing(session, sources, connections, outbox, arguments)
            findings = await look_at_outbox(sources, connections, outbox)
            if arguments.action == RESOLVE:
                chain_id = session.network.chain_id
                plan_id, now = arguments.plan_id, sources.clock()
                for sentence in resolve_half_done(outbox, chain_id, plan_id, now=now):
                    say(sentence)
                return DONE
            if arguments.action is not None:
                from zuno_tui.app.outbox_replacing import replace_waiting

                return await replace_waiting(session, sources, connections, outbox, arguments)
            remember_heard(outbox, findings, now=sources.clock())
            dispatches = [
                one
                for one in outbox.dispatches()
                if one.chain_id == session.network.chain_id
                and arguments.plan_id in (None, one.plan_id)
            ]
    if session.as_json:
        print_json(_document(dispatches, findings))
        return DONE
    if not dispatches:
        say("The outbox is empty: nothing was approved yet.")
        return DONE
    print_lines(table(_COLUMNS, [_row(one) for one in dispatches]))
    for finding in findings:
        if finding.open:
            say(f"{finding.sentence} You can: {', '.join(finding.choices)}.")
            for sentence in finding.where:
                say(f"  {sentence}")
    return DONE


def resolve_half_done(
    outbox: Outbox, chain_id: int, plan_id: str | None, *, now: float
) -> tuple[str, ...]:
    """The person has dealt with what was left half done; it is no longer brought up."""
    open_ends = [
        one
        for one in outbox.unresolved()
        if one.chain_id == chain_id
        and (one.half_done or one.ended is not None)
        and one.resolved_at is None
        and plan_id in (None, one.plan_id)
    ]
    if not open_ends:
        raise GateRefusedError("Nothing was left half done. See where things stand: zuno outbox")
    for one in open_ends:
        outbox.resolve(one.hash, now=now)
    return tuple(f"{one.plan_id} is resolved. It ended here: {stands(one)}." for one in open_ends)


def _row(dispatch: Dispatch) -> tuple[str, ...]:
    steps = ", ".join(f"{step.name} {step.state}" for step in dispatch.steps)
    if dispatch.private_host is not None:
        steps += f" (through {dispatch.private_host} alone)"
    return dispatch.plan_id, dispatch.hash[:_SHORT_HASH] + "…", stands(dispatch), steps


def _document(dispatches: list[Dispatch], findings: tuple[UnsettledStep, ...]) -> Json:
    return {
        "dispatches": [
            {
                "planId": one.plan_id,
                "hash": one.hash,
                "state": stands(one),
                "safeState": one.safe_state,
                "ended": None if one.ended is None else one.ended.code,
                "sentThrough": one.private_host,
                "needsAttention": one.needs_attention,
                "steps": [
                    {
                        "step": step.name,
                        "state": step.state,
                        "reason": step.reason,
                        "nonce": step.transaction.nonce,
                        "hash": None if step.newest is None else step.newest.transaction.hash,
                    }
                    for step in one.steps
                ],
            }
            for one in dispatches
        ],
        "findings": [
            {
                "planId": one.plan_id,
                "step": one.step,
                "situation": one.situation,
                "sentence": one.sentence,
                "choices": list(one.choices),
                "where": aftermath_document(one.aftermath),
            }
            for one in findings
        ],
    }
