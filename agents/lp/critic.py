"""Critic challenges: recomputes every number, applies the floors, then accepts or sends back."""

from collections.abc import AsyncGenerator, Iterator, Mapping

from msgspec.structs import replace

from agents.bus.envelope import CLI, Envelope
from agents.bus.worker import HandlerContext, Outgoing, StageFailedError
from agents.lp import payloads
from agents.lp.advice_words import option_letter
from agents.lp.advising import advice_without_debate, decided_by_rule
from agents.lp.briefing import CandidateOpinion, CriticReply, asked_model, brief_agent
from agents.lp.conclude import chosen_move, own_move, plan_of
from agents.lp.judge import JudgedRound, NumbersDifferError, Opinion, judged_round, recompute
from agents.lp.role_tools import CriticTools
from agents.lp.services import DebateServices
from agents.lp.spoken import (
    broken_rules,
    checks_table,
    closing_statement,
    failing_words,
    standing_statement,
)
from agents.lp.statements import is_same_range
from agents.model.speaking import Brief, about_the_model, model_thought, thought_message
from agents.model.tools import ask_with_tools
from agents.numbers.rules import Decision, JudgmentVerdict
from chain.base.units import list_words


async def critic(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    proposal = envelope.payload
    if not isinstance(proposal, payloads.Proposal):
        return
    try:
        moves = recompute(proposal)
    except NumbersDifferError as error:
        raise StageFailedError(f"The Critic refuses the proposal. {error}") from None
    number = proposal.latest.number
    brief = brief_agent(context, proposal.context, proposal.memory, proposal)
    reply = None
    repeated = _is_repeated(proposal)
    if number == 1:
        standing = standing_statement(proposal)
        yield thought_message(number, "standing", standing.words, claims=standing.claims)
    if repeated:
        yield thought_message(
            number, "repeated", "The revision changes nothing, so the debate ends here."
        )
    elif moves:
        model = asked_model(context, proposal.context)
        tools = CriticTools(proposal.context, moves, brief)
        spoken = await ask_with_tools(context, model, brief, CriticReply, tools)
        for aside in about_the_model(number, spoken):
            yield aside
        reply = spoken.reply
    said = {} if reply is None else _strictest_said(reply)
    opinions = standing_opinions(proposal.rounds[-2]) if repeated else _opinions(said, brief)
    judged = _as_heard(judged_round(proposal.context, moves, opinions), {} if repeated else said)
    open_to_argument = advice_without_debate(proposal.context) is None
    table = checks_table(proposal, judged)
    if reply is None:
        critique = _by_rules(number, judged)
        if open_to_argument:
            yield thought_message(number, "critique", critique, table=table)
    else:
        critique = brief.plain(reply.rationale)
        yield model_thought(number, "critique", reply.rationale, brief, table=table)
        for turn in _opinion_turns(number, judged, said, brief):
            yield turn
    remarks = tuple(
        payloads.CandidateRemark(candidate=index, words=brief.plain(opinion.reason))
        for index, opinion in said.items()
        if index < len(judged.moves)
    )
    debate = with_judgment(proposal, judged, critique, remarks)
    # Where only the rules speak, a second round changes nothing that they have decided.
    over = not open_to_argument or (
        context.services.model is None and decided_by_rule(proposal.context)
    )
    if judged.decision is Decision.ACCEPT or not judged.moves or over or repeated:
        chosen = chosen_move(debate.context, judged, own_move(debate))
        plan = plan_of(debate, judged, chosen, decided_by="critic")
        closing = closing_statement(debate.context, plan, judged)
        yield thought_message(number, "closing", closing.words, claims=closing.claims)
        yield Outgoing(payloads.DebateKind.PLAN_READY, CLI, payloads.PlanReady(plan=plan))
    else:
        yield _handed_on(debate)


def _as_heard(judged: JudgedRound, said: Mapping[int, CandidateOpinion]) -> JudgedRound:
    """A model that accepts none of what it judged sends the round back, whatever it left out."""
    heard = [move for index, move in enumerate(judged.moves) if index in said]
    accepts = any(move.judgment.verdict is JudgmentVerdict.ACCEPT for move in heard)
    if said and judged.decision is Decision.ACCEPT and not accepts:
        return replace(judged, decision=Decision.REVISE)
    return judged


def _is_repeated(proposal: payloads.Proposal) -> bool:
    """Whether a model proposes what it proposed before, range for range."""
    if len(proposal.rounds) < 2 or proposal.latest.proposed_by == "rules":
        return False
    before, now = (
        [each for each in turn.candidates if each.shape is not None and each.shape.by_model]
        for turn in proposal.rounds[-2:]
    )
    return len(before) == len(now) and all(map(is_same_range, before, now))


def standing_opinions(judged: payloads.DebateRound) -> dict[int, Opinion]:
    """What was said of candidates stands; the rules are applied again beneath it."""
    return {
        index: Opinion(candidate.judgment.verdict, candidate.judgment.reason)
        for index, candidate in enumerate(judged.candidates)
        if candidate.judgment is not None
    }


def _handed_on(debate: payloads.Critique) -> Outgoing:
    """Back to the Strategist, or on to the Arbiter."""
    if len(debate.rounds) < debate.max_rounds:
        return Outgoing(payloads.DebateKind.CRITIQUE, payloads.STRATEGIST, debate)
    reason = f"No candidate was accepted in {len(debate.rounds)} rounds."
    deadlock = payloads.Deadlock.model_construct(**dict(debate), reason=reason)
    return Outgoing(payloads.DebateKind.DEADLOCK, payloads.ARBITER, deadlock)


def with_judgment(
    proposal: payloads.Proposal,
    judged: JudgedRound,
    critique: str,
    remarks: tuple[payloads.CandidateRemark, ...],
) -> payloads.Critique:
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
    return payloads.Critique.model_construct(**{**dict(proposal), "rounds": rounds})


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
        index: Opinion(_verdict_of(opinion), brief.plain(opinion.reason))
        for index, opinion in said.items()
    }


def _verdict_of(said: CandidateOpinion) -> JudgmentVerdict:
    return JudgmentVerdict(said.verdict)


def _opinion_turns(
    number: int, judged: JudgedRound, said: Mapping[int, CandidateOpinion], brief: Brief
) -> Iterator[Outgoing]:
    """What the model says of each candidate, then where the rules say otherwise, and why."""
    otherwise: dict[str, list[str]] = {}
    # What is said of several alike is one remark.
    alike: dict[tuple[str, str], list[str]] = {}
    for index in sorted(index for index in said if index < len(judged.moves)):
        alike.setdefault((said[index].verdict, said[index].reason), []).append(option_letter(index))
    for (verdict, reason), names in alike.items():
        lead = f"{list_words(names)}: {verdict}, "
        yield model_thought(number, verdict, reason, brief, lead=lead)
    for index, move in enumerate(judged.moves):
        opinion, letter = said.get(index), option_letter(index)
        if opinion is None or _verdict_of(opinion) is not move.judgment.verdict:
            broken = ", ".join(broken_rules(move)) or "every limit is kept"
            verdict = f"{move.judgment.verdict.value} ({broken})"
            otherwise.setdefault(verdict, []).append(letter)
    if otherwise:
        told = "; ".join(f"{list_words(names)} {verdict}" for verdict, names in otherwise.items())
        yield thought_message(number, "floor", f"By the rules, in round {number}: {told}.")


def _by_rules(number: int, judged: JudgedRound) -> str:
    if not judged.moves:
        return "There is nothing to judge: nothing held here can be moved."
    accepted = [
        option_letter(index)
        for index, move in enumerate(judged.moves)
        if move.judgment.verdict is JudgmentVerdict.ACCEPT
    ]
    if accepted:
        meets = "meets" if len(accepted) == 1 else "meet"
        return f"{list_words(accepted)} {meets} every limit of your profile."
    failing = "; ".join(failing_words(judged))
    return f"In round {number} none meets every limit: {failing}."
