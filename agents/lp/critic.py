"""Critic challenges: recomputes every number, applies the floors, then accepts or sends back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.envelope import CLI
from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.briefing import briefed
from agents.lp.conclude import by_critic, plan_of
from agents.lp.judge import JudgedRound, NumbersDifferError, Opinion, judged_round, recomputed
from agents.lp.payloads import (
    ARBITER,
    STRATEGIST,
    CandidateRemark,
    Critique,
    Deadlock,
    DebateKind,
    PlanReady,
    Proposal,
)
from agents.lp.replies import CriticReply
from agents.model.speaking import ask, model_thought, thought
from agents.numbers.rules import Decision, JudgmentVerdict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.lp.plan import MoveJudgment
    from agents.lp.replies import CandidateOpinion
    from agents.lp.services import DebateServices
    from agents.model.brief import Brief


async def critic(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    proposal = envelope.payload
    if not isinstance(proposal, Proposal):
        return
    try:
        moves = recomputed(proposal)
    except NumbersDifferError as error:
        raise StageFailedError(f"The Critic refuses the proposal. {error}") from None
    number = proposal.latest.number
    brief = briefed(context, proposal.context, proposal.memory, proposal)
    reply = None
    if moves:
        spoken = await ask(context, context.services.model, brief, CriticReply)
        if spoken.silence:
            yield thought(number, "silence", spoken.silence)
        reply = spoken.reply
    said = {} if reply is None else _strictest_said(reply)
    judged = judged_round(proposal.context, moves, _opinions(said, brief))
    if reply is None:
        critique = _by_rules(judged)
        yield thought(number, "critique", critique)
    else:
        critique = brief.plain(reply.rationale)
        yield model_thought(number, "critique", reply.rationale, brief)
    for index, move in enumerate(judged.moves):
        for turn in _verdict(number, index, move.judgment, said.get(index), brief):
            yield turn
    remarks = tuple(
        CandidateRemark(candidate=index, words=brief.plain(one.reason))
        for index, one in said.items()
        if index < len(judged.moves)
    )
    yield _answer(_with_judgment(proposal, judged, critique, remarks), judged)


def _answer(debate: Critique, judged: JudgedRound) -> Outgoing:
    """Done, back to the Strategist, or on to the Arbiter."""
    if judged.decision is Decision.ACCEPT or not judged.moves:
        plan = plan_of(debate, judged, by_critic(debate.context, judged), decided_by="critic")
        return Outgoing(DebateKind.PLAN_READY, CLI, PlanReady(plan=plan))
    if len(debate.rounds) < debate.max_rounds:
        return Outgoing(DebateKind.CRITIQUE, STRATEGIST, debate)
    reason = f"No candidate was accepted in {len(debate.rounds)} rounds."
    deadlock = Deadlock.model_construct(**dict(debate), reason=reason)
    return Outgoing(DebateKind.DEADLOCK, ARBITER, deadlock)


def _with_judgment(
    proposal: Proposal, judged: JudgedRound, critique: str, remarks: tuple[CandidateRemark, ...]
) -> Critique:
    latest = proposal.latest.model_copy(
        update={
            "candidates": tuple(move.candidate for move in judged.moves),
            "decision": judged.decision,
            "critique": critique,
            "objections": judged.objections,
            "remarks": remarks,
        }
    )
    rounds = (*proposal.rounds[:-1], latest)
    return Critique.model_construct(**{**dict(proposal), "rounds": rounds})


def _strictest_said(reply: CriticReply) -> dict[int, CandidateOpinion]:
    """The strictest a model said of each candidate, should it have spoken twice."""
    strictest: dict[int, CandidateOpinion] = {}
    order = list(JudgmentVerdict)
    for said in reply.judgments:
        known = strictest.get(said.index)
        if known is None or order.index(_verdict_of(said)) > order.index(_verdict_of(known)):
            strictest[said.index] = said
    return strictest


def _opinions(said: Mapping[int, CandidateOpinion], brief: Brief) -> dict[int, Opinion]:
    return {
        index: Opinion(_verdict_of(one), brief.plain(one.reason)) for index, one in said.items()
    }


def _verdict_of(said: CandidateOpinion) -> JudgmentVerdict:
    return JudgmentVerdict(said.verdict)


def _verdict(
    number: int, index: int, judgment: MoveJudgment, said: CandidateOpinion | None, brief: Brief
) -> Iterator[Outgoing]:
    """What the model says of a candidate, and what the rules say where it said nothing or less."""
    verdict = judgment.verdict
    if said is not None:
        lead = f"{index}: {said.verdict}, "
        yield model_thought(number, said.verdict, said.reason, brief, lead=lead)
        if _verdict_of(said) is not verdict:
            yield thought(number, "floor", f"{index}: {verdict} by the rules, {judgment.reason}")
        return
    yield thought(number, verdict.value, f"{index}: {verdict}, {judgment.reason}")


def _by_rules(judged: JudgedRound) -> str:
    if not judged.moves:
        return "There is nothing to judge: no move can be made of what is held."
    return {
        Decision.ACCEPT: "At least one candidate keeps every rule of the profile.",
        Decision.REVISE: "No candidate keeps every rule; some can be mended.",
        Decision.VETO_ALL: "Every candidate fails a rule that cannot be mended by a little.",
    }[judged.decision]
