"""Strategist proposes: shapes within bounds, which code turns into candidates with every number."""

from collections.abc import AsyncGenerator, Iterator, Sequence

from agents.bus.envelope import Envelope
from agents.bus.worker import HandlerContext, Outgoing, StageFailedError
from agents.lp.advice_words import option_letter
from agents.lp.advising import settled
from agents.lp.briefing import StrategistReply, asked_model, briefed
from agents.lp.conclude import rules_alone
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.facts import CreateContext, ScoutContext
from agents.lp.judge import judged_round
from agents.lp.payloads import (
    CRITIC,
    AnsweredPoint,
    ContextObserved,
    Critique,
    DebateKind,
    DebateRound,
    Objection,
    Proposal,
)
from agents.lp.plan import OwnRange, ShapeChoice
from agents.lp.propose import candidates_of, own_shapes, shapes_by_rules
from agents.lp.services import DebateServices
from agents.lp.spoken import proposal_table, stance_sentence
from agents.model.brief import Brief
from agents.model.speaking import about_the_model, ask, model_thought, thought
from agents.numbers.shapes import ExposureBias, ShapeError
from chain.base.units import listed

_NEW_ROUNDS = 2
"""After them the rules would only propose again what they proposed before."""


async def strategist(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    heard = envelope.payload
    if isinstance(heard, ContextObserved) and heard.own_range is not None:
        for named in _as_named(heard, heard.own_range):
            yield named
        return
    if isinstance(heard, ContextObserved):
        debate = _opened(heard)
    elif isinstance(heard, Critique):
        debate = Proposal.model_construct(**dict(heard))
    else:
        return
    number = len(debate.rounds) + 1
    brief = briefed(context, debate.context, debate.memory, debate)
    model = asked_model(context, debate.context)
    spoken = await ask(context, model, brief, StrategistReply)
    for aside in about_the_model(number, spoken):
        yield aside
    tag = "propose" if number == 1 else "revise"
    if spoken.reply is None:
        moves = candidates_of(debate.context, shapes_by_rules(debate.context, debate.rounds))
        rationale, answers = _by_rules(debate)
        saying = thought(number, tag, rationale, table=proposal_table(debate.context, moves))
        answering = list(_answers_by_rules(number, answers))
    else:
        moves = candidates_of(
            debate.context, _beside_the_rules(debate, _chosen(debate.context, spoken.reply))
        )
        said = _answers_by_point(debate, spoken.reply)
        rationale = brief.plain(spoken.reply.rationale)
        answers = tuple(
            AnsweredPoint(point=point, words=brief.plain(words)) for point, words in said.items()
        )
        table = proposal_table(debate.context, moves)
        saying = model_thought(number, tag, spoken.reply.rationale, brief, table=table)
        answering = [
            _answer(number, objection, said[objection.point], brief)
            for objection in _objections(debate)
            if objection.point in said
        ]
        answering += _unanswered(number, debate, said)
    if settled(debate.context) is None:
        yield saying
        for turn in answering:
            yield turn
        judged = judged_round(debate.context, moves, {})
        yield thought(number, "stance", stance_sentence(number, debate.context, moves, judged))
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


def _beside_the_rules(debate: Proposal, chosen: tuple[ShapeChoice, ...]) -> tuple[ShapeChoice, ...]:
    """The rules' own choice first, then a model's shapes, then what else the rules propose."""
    own = rules_alone(debate.context, debate.max_rounds).shape
    rest = shapes_by_rules(debate.context, debate.rounds)
    first = rest[:1] if own is None else (own,)
    return (*first, *chosen, *rest)


def _opened(heard: ContextObserved) -> Proposal:
    return Proposal(
        context=heard.context,
        context_hash=heard.context_hash,
        max_rounds=heard.max_rounds,
        hold=hold_candidate(heard.context),
        exit=exit_candidate(heard.context),
        rounds=(),
        memory=heard.memory,
    )


def _as_named(heard: ContextObserved, own: OwnRange) -> Iterator[Outgoing]:
    """A range the person named is put on the table as it is, and nobody is asked for another."""
    try:
        moves = candidates_of(heard.context, own_shapes(heard.context, own))
    except ShapeError as error:
        raise StageFailedError(str(error)) from None
    if not moves:
        raise StageFailedError("There is nothing to put into that range, or it is held already.")
    rationale = "The range that was named, and no other."
    yield thought(1, "propose", rationale, table=proposal_table(heard.context, moves))
    only = DebateRound(
        number=1,
        candidates=tuple(move.candidate for move in moves),
        rationale=rationale,
        answers=(),
        proposed_by="rules",
    )
    debate = _opened(heard).model_copy(update={"rounds": (only,), "max_rounds": 1})
    yield Outgoing(DebateKind.PROPOSAL, CRITIC, debate)


def _chosen(context: ScoutContext, reply: StrategistReply) -> tuple[ShapeChoice, ...]:
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


def _objections(debate: Proposal) -> tuple[Objection, ...]:
    return debate.rounds[-1].objections if debate.rounds else ()


def _answers_by_point(debate: Proposal, reply: StrategistReply) -> dict[int, str]:
    """The model's first answer to each point; one to a point nobody made is left out."""
    points = [objection.point for objection in _objections(debate)]
    said: dict[int, str] = {}
    for answer in reply.answers:
        if answer.point in points:
            said.setdefault(answer.point, answer.words)
    return said


def _answer(number: int, objection: Objection, words: str, brief: Brief) -> Outgoing:
    lead = f"Point {objection.point}, on {option_letter(objection.candidate)}: "
    return model_thought(number, "answer", words, brief, lead=lead)


def _unanswered(number: int, debate: Proposal, said: dict[int, str]) -> Iterator[Outgoing]:
    points = [
        str(objection.point) for objection in _objections(debate) if objection.point not in said
    ]
    if len(points) == 1:
        yield thought(number, "answer", f"Point {points[0]} is left unanswered.")
    elif points:
        yield thought(number, "answer", f"Points {listed(points)} are left unanswered.")


def _answers_by_rules(number: int, answers: Sequence[AnsweredPoint]) -> Iterator[Outgoing]:
    """One line for all the points together: the rules have but two answers."""
    said = dict.fromkeys(answer.words for answer in answers)
    if said:
        yield thought(number, "answer", " ".join(f"{words}." for words in said))


def _by_rules(debate: Proposal) -> tuple[str, tuple[AnsweredPoint, ...]]:
    number = len(debate.rounds) + 1
    if number == 1:
        return _first_by_rules(debate), ()
    answers = tuple(
        AnsweredPoint(
            point=objection.point,
            words="Where the buffer failed, wider as the floor asks and a little more"
            if objection.needed_multiplier is not None
            else "Where it was the cost, the narrowest that the floor allows earns the most",
        )
        for objection in debate.rounds[-1].objections
    )
    if number > _NEW_ROUNDS:
        return f"The rules have nothing new for round {number}.", answers
    return "The widths the floors ask for, and two with room to spare.", answers


def _first_by_rules(debate: Proposal) -> str:
    if isinstance(debate.context, CreateContext):
        return "In each of the best pools, as wide as the profile asks or wider where it pays more."
    return "Wider, tighter and centred ranges, with what each is expected to bring."
