"""Strategist proposes: shapes within bounds, which code turns into candidates with every number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.briefing import Brief
from agents.envelope import Kind, Role
from agents.evaluation import exit_candidate, hold_candidate
from agents.facts import CreateContext
from agents.numbers.shapes import ExposureBias
from agents.payloads import Answer, ContextObserved, Critique, Proposal, Round
from agents.plan import ShapeChoice
from agents.proposing import candidates_of, shapes_by_rules
from agents.replies import StrategistReply
from agents.speaking import ask, model_thought, thought
from agents.words import hours, percent, usd
from agents.worker import Outgoing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agents.envelope import Envelope
    from agents.evaluation import Evaluated
    from agents.facts import MarketContext
    from agents.speaking import DebateServices
    from agents.worker import Context


async def strategist(
    envelope: Envelope, context: Context[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    said = envelope.payload
    if isinstance(said, ContextObserved):
        debate = Proposal(
            context=said.context,
            context_hash=said.context_hash,
            max_rounds=said.max_rounds,
            hold=hold_candidate(said.context),
            exit=exit_candidate(said.context),
            rounds=(),
        )
    elif isinstance(said, Critique):
        debate = Proposal.model_construct(**dict(said))
    else:
        return
    number = len(debate.rounds) + 1
    brief = Brief(Role.STRATEGIST)
    brief.market(debate.context)
    brief.table(debate)
    spoken = await ask(context, brief, StrategistReply)
    if spoken.silence:
        yield thought(number, "silence", spoken.silence)
    tag = "propose" if number == 1 else "revise"
    if spoken.reply is None:
        shapes = shapes_by_rules(debate.context, debate.rounds)
        rationale, answers = _by_rules(debate)
        yield thought(number, tag, rationale)
    else:
        shapes = _chosen(debate.context, spoken.reply)
        rationale, answers = spoken.reply.rationale, _answers(spoken.reply)
        yield model_thought(number, tag, rationale, brief)
    moves = candidates_of(debate.context, shapes)
    for move in moves:
        yield thought(number, "candidate", _described(move))
    for answer in answers:
        yield thought(number, "answer", f"Point {answer.point}: {answer.words}")
    this_round = Round(
        number=number,
        candidates=tuple(move.candidate for move in moves),
        rationale=rationale,
        answers=answers,
        proposed_by="rules" if spoken.reply is None else "model",
    )
    yield Outgoing(
        Kind.PROPOSAL if number == 1 else Kind.REVISION,
        Role.CRITIC,
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


def _answers(reply: StrategistReply) -> tuple[Answer, ...]:
    return tuple(Answer(point=answer.point, words=answer.words) for answer in reply.answers)


def _by_rules(debate: Proposal) -> tuple[str, tuple[Answer, ...]]:
    if not debate.rounds:
        return (
            "One wider, one tighter, one centred, and one that needs no swap if there is one.",
            (),
        )
    answers = tuple(
        Answer(
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
