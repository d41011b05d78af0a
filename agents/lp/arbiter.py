"""Arbiter decides, only on a deadlock: one candidate of the last round, never a vetoed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.envelope import CLI
from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.briefing import briefed
from agents.lp.conclude import by_arbiter, is_permitted, plan_of
from agents.lp.judge import JudgedCandidate, NumbersDifferError, Opinion, judged_round, recomputed
from agents.lp.payloads import Deadlock, DebateKind, PlanReady
from agents.lp.replies import ArbiterReply
from agents.model.speaking import ask, model_thought, thought
from agents.numbers.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.lp.facts import CreateContext, MarketContext
    from agents.lp.judge import JudgedRound
    from agents.lp.services import DebateServices


async def arbiter(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    deadlock = envelope.payload
    if not isinstance(deadlock, Deadlock):
        return
    try:
        moves = recomputed(deadlock)
    except NumbersDifferError as error:
        raise StageFailedError(f"The Arbiter refuses the debate. {error}") from None
    judged = judged_round(deadlock.context, moves, _standing(deadlock))
    choice = by_arbiter(deadlock.context, judged)
    number = len(deadlock.rounds)
    brief = briefed(context, deadlock.context, deadlock.memory, deadlock)
    reply = None
    if choice is not None:
        spoken = await ask(context, context.services.model, brief, ArbiterReply)
        if spoken.silence:
            yield thought(number, "silence", spoken.silence)
        reply = spoken.reply
    if reply is None:
        yield thought(number, "decision", _by_rules(deadlock, choice))
    else:
        yield model_thought(number, "decision", reply.rationale, brief)
        named = _named(deadlock.context, judged, reply.chosen_index)
        if named is None:
            yield thought(
                number, "floor", "The Arbiter named a move that may not be: the rules choose."
            )
        choice = named or choice
    plan = plan_of(deadlock, judged, choice, decided_by="arbiter")
    yield Outgoing(DebateKind.PLAN_READY, CLI, PlanReady(plan=plan))


def _standing(deadlock: Deadlock) -> dict[int, Opinion]:
    """What the Critic said stands; the rules are applied again beneath it."""
    return {
        index: Opinion(candidate.judgment.verdict, candidate.judgment.reason)
        for index, candidate in enumerate(deadlock.latest.candidates)
        if candidate.judgment is not None
    }


def _named(
    context: MarketContext | CreateContext, judged: JudgedRound, index: int
) -> JudgedCandidate | None:
    if index >= len(judged.moves):
        return None
    move = judged.moves[index]
    return move if is_permitted(context, move) else None


def _by_rules(deadlock: Deadlock, choice: JudgedCandidate | None) -> str:
    told = " ".join(
        f"Round {one.number} ended in {one.decision.value if one.decision else 'silence'}: "
        f"{one.critique}"
        for one in deadlock.rounds
    )
    if choice is None:
        return f"{told} The rules allow no move of the last round, so none is chosen."
    axis = PROFILES[deadlock.context.profile].tiebreak.value
    return (
        f"{told} Of what is not vetoed, candidate {choice.evaluated.candidate.index} is best by "
        f"score, and by {axis} where scores are equal."
    )
