"""Strategist proposes: shapes within bounds, which code turns into candidates with every number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.worker import Outgoing
from agents.lp.briefing import briefed
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.facts import CreateContext
from agents.lp.payloads import (
    CRITIC,
    AnsweredPoint,
    ContextObserved,
    Critique,
    DebateKind,
    DebateRound,
    Proposal,
)
from agents.lp.plan import ShapeChoice
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.replies import StrategistReply
from agents.model.speaking import ask, model_thought, thought
from agents.numbers.shapes import ExposureBias
from chain.base.number_words import hours, percent, usd

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.lp.evaluation import Evaluated
    from agents.lp.facts import MarketContext
    from agents.lp.services import DebateServices
    from agents.model.brief import Brief


async def strategist(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    heard = envelope.payload
    if isinstance(heard, ContextObserved):
        debate = Proposal(
            context=heard.context,
            context_hash=heard.context_hash,
            max_rounds=heard.max_rounds,
            hold=hold_candidate(heard.context),
            exit=exit_candidate(heard.context),
            rounds=(),
            memory=heard.memory,
        )
    elif isinstance(heard, Critique):
        debate = Proposal.model_construct(**dict(heard))
    else:
        return
    number = len(debate.rounds) + 1
    brief = briefed(context, debate.context, debate.memory, debate)
    spoken = await ask(context, context.services.model, brief, StrategistReply)
    if spoken.silence:
        yield thought(number, "silence", spoken.silence)
    tag = "propose" if number == 1 else "revise"
    if spoken.reply is None:
        shapes = shapes_by_rules(debate.context, debate.rounds)
        rationale, answers = _by_rules(debate)
        yield thought(number, tag, rationale)
        answering = [
            thought(number, "answer", f"Point {answer.point}: {answer.words}") for answer in answers
        ]
    else:
        shapes = _chosen(debate.context, spoken.reply)
        said = _said(debate, spoken.reply)
        rationale = brief.plain(spoken.reply.rationale)
        answers = tuple(
            AnsweredPoint(point=point, words=brief.plain(words)) for point, words in said.items()
        )
        yield model_thought(number, tag, spoken.reply.rationale, brief)
        answering = [_answer(number, point, said.get(point), brief) for point in _points(debate)]
    moves = candidates_of(debate.context, shapes)
    for move in moves:
        yield thought(number, "candidate", _described(move))
    for turn in answering:
        yield turn
    this_round = DebateRound(
        number=number,
        candidates=tuple(move.candidate for move in moves),
        rationale=rationale,
        answers=answers,
        proposed_by="rules" if spoken.reply is None else "model",
    )
    yield Outgoing(
        DebateKind.PROPOSAL if number == 1 else DebateKind.REVISION,
        CRITIC,
        debate.model_copy(update={"rounds": (*debate.rounds, this_round)}),
    )


def _chosen(
    context: MarketContext | CreateContext, reply: StrategistReply
) -> tuple[ShapeChoice, ...]:
    """The model's shapes; one that names a pool nobody surveyed is left out."""
    pools = len(context.surveyed_pools) if isinstance(context, CreateContext) else 1
    creating = isinstance(context, CreateContext)
    return tuple(
        ShapeChoice(
            width_multiplier=shape.width_multiplier,
            center_offset_ticks=shape.center_offset_ticks,
            pool_index=shape.pool_index,
            exposure=ExposureBias(shape.exposure) if creating else ExposureBias.NEUTRAL,
        )
        for shape in reply.shapes
        if shape.pool_index < pools
    )


def _points(debate: Proposal) -> tuple[int, ...]:
    objections = debate.rounds[-1].objections if debate.rounds else ()
    return tuple(objection.point for objection in objections)


def _said(debate: Proposal, reply: StrategistReply) -> dict[int, str]:
    """The model's first answer to each point; one to a point nobody made is left out."""
    points = _points(debate)
    said: dict[int, str] = {}
    for answer in reply.answers:
        if answer.point in points:
            said.setdefault(answer.point, answer.words)
    return said


def _answer(number: int, point: int, words: str | None, brief: Brief) -> Outgoing:
    lead = f"Point {point}: "
    if words is None:
        return thought(number, "answer", f"{lead}left unanswered.")
    return model_thought(number, "answer", words, brief, lead=lead)


def _by_rules(debate: Proposal) -> tuple[str, tuple[AnsweredPoint, ...]]:
    if not debate.rounds:
        return (
            "One wider, one tighter, one centred, and one that needs no swap if there is one.",
            (),
        )
    answers = tuple(
        AnsweredPoint(
            point=objection.point,
            words="the width the floor asked for, and a little more"
            if objection.needed_multiplier is not None
            else "a width that meets the floor is the narrowest, and so the best paid, that may be",
        )
        for objection in debate.rounds[-1].objections
    )
    return "The widths the floors asked for, and two with room to spare.", answers


def _described(move: Evaluated) -> str:
    candidate = move.candidate
    buffers, survival = candidate.buffer_hours, candidate.survival
    swap = "without a swap" if candidate.prep_action is None else "after a swap"
    return (
        f"{candidate.index}: {candidate.kind} to ticks {candidate.tick_lower} … "
        f"{candidate.tick_upper} {swap}; buffer {hours(buffers.at_1x if buffers else None)}, "
        f"24 h survival {percent(survival.day if survival else None)}, fees "
        f"{usd(candidate.fee_yield_24h)} against LVR {usd(candidate.lvr_24h)} a day, cost "
        f"{usd(candidate.cost_usd)}."
    )
