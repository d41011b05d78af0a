"""A second Critic, of another owner: it judges the last proposal again, and the stricter counts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, Envelope, Payload
from agents.bus.run import FlowOutcome, Listener, RemoteAgents, run_flow
from agents.bus.worker import HandlerContext, Outgoing
from agents.lp import FLOW
from agents.lp.conclude import by_arbiter, by_critic, plan_of
from agents.lp.critic import critic, with_judgment
from agents.lp.judge import Opinion, judged_round, recomputed
from agents.lp.payloads import (
    ARBITER,
    CRITIC,
    DEBATE,
    STRATEGIST,
    Debate,
    DebateKind,
    PlanReady,
    Proposal,
)
from agents.lp.services import DebateServices, Eyes, recorded_services
from agents.numbers.rules import JudgmentVerdict, strictest

if TYPE_CHECKING:
    from agents.bus.record import RecordWriter
    from agents.bus.replay import Record
    from agents.bus.transport import Ambient, BusLimits
    from agents.lp.plan import Candidate, Plan

_JUDGED = "critic_judged"


class CriticJudged(Payload):
    """What a Critic thinks of each candidate, wherever it would have sent the debate."""

    verdicts: tuple[JudgmentVerdict, ...]
    reasons: tuple[str, ...]


async def _tell(
    envelope: Envelope,
    context: HandlerContext[DebateServices],  # noqa: ARG001 - a handler's form
) -> AsyncGenerator[Outgoing, None]:
    """In the place of the Strategist and the Arbiter: the desk has heard enough."""
    if isinstance(envelope.payload, Debate):
        yield Outgoing(_JUDGED, CLI, _judgments(envelope.payload.latest.candidates))


SECOND_OPINION = FlowSpec(
    name=FLOW,
    package="agents.lp",
    registry=DEBATE.extended({_JUDGED: CriticJudged}, final=(_JUDGED,)),
    handlers={CRITIC: critic, STRATEGIST: _tell, ARBITER: _tell},
    first=CRITIC,
    starts=(DebateKind.PROPOSAL,),
    recorded_services=recorded_services,
)


async def ask_second_critic(
    proposal: Proposal,
    eyes: Eyes,
    record: RecordWriter,
    remote: RemoteAgents,
    *,
    ambient: Ambient,
    request_id: str,
    limits: BusLimits,
    tokens: int | None,
    listener: Listener,
) -> CriticJudged | None:
    """What it says of each candidate; None where it could not be heard."""
    outcome = await run_flow(
        SECOND_OPINION,
        proposal,
        DebateServices(eyes, None),
        record,
        ambient=ambient,
        request_id=request_id,
        limits=limits,
        tokens=tokens,
        remote=remote,
        listener=listener,
    )
    return _heard(outcome)


def last_proposal(record: Record) -> Proposal | None:
    """What the first Critic judged last."""
    for wire in reversed(record.envelopes()):
        payload = DEBATE.open(wire).payload
        if isinstance(payload, Proposal):
            return payload
    return None


def stricter_plan(proposal: Proposal, plan: Plan, second: CriticJudged, name: str) -> Plan | None:
    """The plan by the stricter of both for each candidate; None where the second is nowhere."""
    first = _judgments(plan.candidates)
    merged: dict[int, Opinion] = {}
    stricter = False
    for index, ours in enumerate(first.verdicts):
        # Whoever is elsewhere may say too little: then the first stands alone.
        theirs = second.verdicts[index] if index < len(second.verdicts) else ours
        if strictest((ours, theirs)) is ours:
            merged[index] = Opinion(ours, first.reasons[index])
        else:
            stricter = True
            reason = second.reasons[index] if index < len(second.reasons) else "no reason given"
            merged[index] = Opinion(theirs, f"{name}: {reason}")
    if not stricter:
        return None
    judged = judged_round(proposal.context, recomputed(proposal), merged)
    chosen = by_critic(proposal.context, judged) or by_arbiter(proposal.context, judged)
    debate = with_judgment(proposal, judged, f"{name} is stricter than the first Critic.", ())
    return plan_of(debate, judged, chosen, decided_by=plan.decided_by)


def _heard(outcome: FlowOutcome) -> CriticJudged | None:
    match outcome.result:
        case CriticJudged() as judged:
            return judged
        case PlanReady(plan=plan):
            return _judgments(plan.candidates)
        case _:
            return None


def _judgments(candidates: Sequence[Candidate]) -> CriticJudged:
    judged = [candidate.judgment for candidate in candidates if candidate.judgment is not None]
    return CriticJudged(
        verdicts=tuple(judgment.verdict for judgment in judged),
        reasons=tuple(judgment.reason for judgment in judged),
    )
