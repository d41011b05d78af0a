"""`zuno outbox resume [PLAN]`: the same signed bytes once more, told first and asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.execution.outbox.records import SUCCEEDED, VersionKind
from zuno_tui.app.apply import step_words
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.session import Session, say
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.resume import prepare_resume, resume_plan
from zuno_tui.present import signing
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import print_json
from zuno_tui.present.words import NOBODY

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.execution.outbox.outbox import Outbox
    from chain.positions.overview import Sources
    from zuno_tui.gate.connections import Connections

WORD = "resume"


async def resume_missing(
    session: Session,
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    arguments: Namespace,
) -> int:
    limits = gate_limits(session.settings.limits, session.network)
    resumption = await prepare_resume(
        sources, connections, outbox, arguments.plan_id, limits=limits
    )
    dispatch = resumption.dispatch
    say(resumption.headline)
    network, parties = session.network, resumption.parties
    recipients = " and ".join(signing.recipients(parties)) or NOBODY
    terms = signing.terms(network, parties, resumption.gas, resumption.tokens)
    for label, words in (("recipient", recipients), *terms):
        say(f"  {label:<10} {words}")
    for sentence in resumption.words(network):
        say(f"  {sentence}")
    if connections.route.private_host is not None:
        say(f"  It goes through {connections.route.private_host} alone.")
    say(f"  hash {dispatch.hash}")
    if arguments.confirm is None:
        require_typed(WORD, f"Type {WORD} to send this: ")
    elif arguments.confirm != dispatch.hash:
        raise GateRefusedError(
            f"That hash is not the one of {dispatch.plan_id}. Nothing was sent. "
            "See it: zuno outbox --json"
        )
    with may_have_sent():
        dispatch = await resume_plan(
            sources,
            connections,
            outbox,
            resumption,
            limits=limits,
            changed=lambda step: say(step_words(step)),
        )
    step = dispatch.steps[resumption.step.position]
    if session.as_json:
        sent = resumption.version.transaction.hash
        print_json(
            {"planId": dispatch.plan_id, "step": step.name, "state": step.state, "hash": sent}
        )
    say(f"{step.name}: {step.state}. See where things stand: zuno outbox")
    cancelled = resumption.version.kind is VersionKind.CANCEL and step.inclusion is not None
    return DONE if cancelled or step.state in SUCCEEDED else FAILED
