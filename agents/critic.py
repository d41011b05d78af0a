"""Critic challenges: recomputes every number, applies the floors, then accepts or sends back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.briefing import Brief
from agents.concluding import by_critic, plan_of
from agents.envelope import Kind, Role
from agents.judging import JudgedRound, NumbersDifferError, Opinion, judged_round, recomputed
from agents.numbers.rules import Decision, JudgmentVerdict
from agents.payloads import Critique, Deadlock, PlanReady, Proposal
from agents.replies import CriticReply
from agents.speaking import ask, model_thought, thought
from agents.worker import Outgoing, StageFailedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agents.envelope import Envelope
    from agents.speaking import DebateServices
    from agents.worker import Context


async def critic(
    envelope: Envelope, context: Context[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    proposal = envelope.payload
    if not isinstance(proposal, Proposal):
        return
    try:
        moves = recomputed(proposal)
    except NumbersDifferError as error:
        raise StageFailedError(f"The Critic refuses the proposal. {error}") from None
    number = proposal.latest.number
    brief = Brief(Role.CRITIC)
    brief.market(proposal.context)
    brief.table(proposal)
    reply = None
    if moves:
        spoken = await ask(context, brief, CriticReply)
        if spoken.silence:
            yield thought(number, "silence", spoken.silence)
        reply = spoken.reply
    judged = judged_round(proposal.context, moves, {} if reply is None else _opinions(reply))
    if reply is None:
        critique = _by_rules(judged)
        yield thought(number, "critique", critique)
    else:
        critique = reply.rationale
        yield model_thought(number, "critique", critique, brief)
    for index, move in enumerate(judged.moves):
        verdict = move.judgment.verdict
        text = f"{index}: {verdict.value}, {move.judgment.reason}"
        yield (
            thought(number, verdict.value, text)
            if reply is None
            else model_thought(number, verdict.value, text, brief)
        )
    yield _answer(_with_judgment(proposal, judged, critique), judged)


def _answer(debate: Critique, judged: JudgedRound) -> Outgoing:
    """Done, back to the Strategist, or on to the Arbiter."""
    if judged.decision is Decision.ACCEPT or not judged.moves:
        plan = plan_of(debate, judged, by_critic(debate.context, judged), decided_by="critic")
        return Outgoing(Kind.PLAN_READY, Role.CLI, PlanReady(plan=plan))
    if len(debate.rounds) < debate.max_rounds:
        return Outgoing(Kind.CRITIQUE, Role.STRATEGIST, debate)
    reason = f"No candidate was accepted in {len(debate.rounds)} rounds."
    deadlock = Deadlock.model_construct(**dict(debate), reason=reason)
    return Outgoing(Kind.DEADLOCK, Role.ARBITER, deadlock)


def _with_judgment(proposal: Proposal, judged: JudgedRound, critique: str) -> Critique:
    latest = proposal.latest.model_copy(
        update={
            "candidates": tuple(move.candidate for move in judged.moves),
            "decision": judged.decision,
            "critique": critique,
            "objections": judged.objections,
        }
    )
    rounds = (*proposal.rounds[:-1], latest)
    return Critique.model_construct(**{**dict(proposal), "rounds": rounds})


def _opinions(reply: CriticReply) -> dict[int, Opinion]:
    """The strictest a model said of each candidate, should it have spoken twice."""
    opinions: dict[int, Opinion] = {}
    order = list(JudgmentVerdict)
    for said in reply.judgments:
        opinion = Opinion(JudgmentVerdict(said.verdict), said.reason)
        known = opinions.get(said.index)
        if known is None or order.index(opinion.verdict) > order.index(known.verdict):
            opinions[said.index] = opinion
    return opinions


def _by_rules(judged: JudgedRound) -> str:
    if not judged.moves:
        return "There is nothing to judge: no move can be made of what is held."
    return {
        Decision.ACCEPT: "At least one candidate keeps every rule of the profile.",
        Decision.REVISE: "No candidate keeps every rule; some can be mended.",
        Decision.VETO_ALL: "Every candidate fails a rule that cannot be mended by a little.",
    }[judged.decision]
