"""Arbiter decides, only on a deadlock: one candidate of the last round, never a vetoed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.envelope import CLI
from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.advice_words import move_words
from agents.lp.advising import move_advice
from agents.lp.briefing import AXES, asked_model, briefed
from agents.lp.closing import closing_sentence
from agents.lp.conclude import by_arbiter, is_permitted, plan_of
from agents.lp.evaluation_context import evaluation_of
from agents.lp.judge import JudgedCandidate, NumbersDifferError, Opinion, judged_round, recomputed
from agents.lp.option_letters import option_letter
from agents.lp.payloads import Deadlock, DebateKind, PlanReady
from agents.lp.replies import ArbiterReply
from agents.model.speaking import ask, model_thought, thought
from agents.numbers.profiles import PROFILES
from agents.numbers.rules import JudgmentVerdict

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
        model = asked_model(context, deadlock.context)
        spoken = await ask(context, model, brief, ArbiterReply)
        if spoken.silence:
            yield thought(number, "silence", spoken.silence)
        reply = spoken.reply
    if reply is None:
        yield thought(number, "decision", _by_rules(deadlock, choice))
    else:
        yield model_thought(number, "decision", reply.rationale, brief)
        named = _named(deadlock.context, judged, reply.chosen_index)
        if named is None:
            yield thought(number, "floor", _overruled(deadlock.context, judged, reply.chosen_index))
        choice = named or choice
    plan = plan_of(deadlock, judged, choice, decided_by="arbiter")
    yield thought(number, "closing", closing_sentence(deadlock.context, plan, judged))
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


def _overruled(context: MarketContext | CreateContext, judged: JudgedRound, index: int) -> str:
    """Which rule the named move breaks; the rules choose in its place."""
    letter = option_letter(index)
    if index >= len(judged.moves):
        return f"Overruled: there is no {letter}, so the rules choose."
    move = judged.moves[index]
    if move.judgment.verdict is JudgmentVerdict.VETO:
        return f"Overruled: {letter} is vetoed, {move.judgment.reason}."
    shape = move.evaluated.candidate.shape
    evaluation = evaluation_of(context, 0 if shape is None else shape.pool_index)
    words = move_words(move_advice(context, evaluation, move.evaluated))
    return f"Overruled: {letter} may not win by the rule, {words.removeprefix('HOLD wins: ')}."


def _by_rules(deadlock: Deadlock, choice: JudgedCandidate | None) -> str:
    """The choice among what nobody vetoed, in a sentence."""
    many = len(deadlock.rounds)
    after = "After one round" if many == 1 else f"After {many} rounds"
    if choice is None:
        return f"{after} nothing was accepted, and the rule lets none of the last ranges win."
    axis = AXES[PROFILES[deadlock.context.profile].tiebreak]
    letter = option_letter(choice.evaluated.candidate.index or 0)
    return f"{after} nothing was accepted; of what is not vetoed {letter} is best by {axis}."
