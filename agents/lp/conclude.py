"""From judged rounds to one plan: EXIT when it must be, HOLD unless a move beats it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import MarketContext
from agents.lp.judge import JudgedCandidate, JudgedRound, judged_round
from agents.lp.plan import Choice, Plan, Rejected, plan_identity
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.numbers.choosing import (
    ExitAdvice,
    JudgedMove,
    VolatilityWindow,
    advise_exit,
    arbiter_choice,
    below_own_floor,
    best_accepted,
    compare_with_hold,
    move_verdict,
    stay_verdict,
    worth_leaving_health,
)
from agents.numbers.confidence import Contest, exit_confidence, hold_confidence, move_confidence
from agents.numbers.outlook import expected_life_hours, look_at, net_24h
from agents.numbers.profiles import PROFILES
from agents.numbers.rules import Decision, JudgmentVerdict
from chain.base.number_words import usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.lp.facts import CreateContext
    from agents.lp.payloads import Debate, DebateRound
    from agents.lp.plan import Candidate
    from agents.numbers.choosing import PlanVerdict

    Context = MarketContext | CreateContext

_NOTHING_TO_MOVE = "there is nothing in this position to move"
_ALL_VETOED = "every move was vetoed"


def by_critic(context: Context, judged: JudgedRound) -> JudgedCandidate | None:
    """The accepted move the profile's tiebreak prefers."""
    chosen = best_accepted(PROFILES[context.profile], _moves(judged))
    return None if chosen is None else judged.moves[chosen.index]


def by_arbiter(context: Context, judged: JudgedRound) -> JudgedCandidate | None:
    """The best by score among those not vetoed, ties by the profile."""
    chosen = arbiter_choice(PROFILES[context.profile], _moves(judged))
    return None if chosen is None else judged.moves[chosen.index]


def plan_of(
    debate: Debate,
    judged: JudgedRound,
    chosen: JudgedCandidate | None,
    *,
    decided_by: Literal["critic", "arbiter"],
) -> Plan:
    """The plan a debate ends in; whoever chose, the floors and HOLD have the last word."""
    context = debate.context
    choice = _choice(context, judged, chosen)
    # A shape is what a model chose; a plan holds only what code made of it.
    moves = tuple(move.candidate.model_copy(update={"shape": None}) for move in judged.moves)
    plan = Plan(
        plan_id="",
        kind=context.mode,
        chain_id=context.chain_id,
        block=context.block,
        block_hash=context.block_hash,
        time=context.time,
        position=context.position.token_id if isinstance(context, MarketContext) else None,
        owner=context.position.owner if isinstance(context, MarketContext) else context.owner,
        profile=context.profile,
        regime=_evaluation(context, chosen).observed.regime,
        decided_by=decided_by,
        rounds=len(debate.rounds),
        decision=judged.decision,
        verdict=_verdict(context, judged, chosen, choice),
        confidence=_confidence(context, judged, chosen, choice),
        choice=choice,
        recommended=_recommended(debate, moves, choice),
        candidates=moves,
        hold=debate.hold,
        exit=debate.exit,
        rejected=tuple(_rejected(debate.rounds, choice)),
        rules_alone=_rules_choice(debate, judged),
        context_hash=debate.context_hash,
        sources=context.sources,
    )
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def _rules_choice(debate: Debate, judged: JudgedRound) -> Choice:
    """What the rules choose; known already where nobody but they have spoken."""
    context = debate.context
    if all(_is_by_rules(one) for one in debate.rounds):
        return _choice(context, judged, by_critic(context, judged) or by_arbiter(context, judged))
    return rules_alone(context, debate.max_rounds)


def _is_by_rules(one: DebateRound) -> bool:
    judgments = [candidate.judgment for candidate in one.candidates]
    return one.proposed_by == "rules" and all(
        judgment is not None and judgment.verdict is judgment.by_rules for judgment in judgments
    )


def rules_alone(context: Context, max_rounds: int) -> Choice:
    """What comes out when nobody argues: the same rounds by the deterministic path."""
    rounds: list[DebateRound] = []
    judged = JudgedRound((), Decision.VETO_ALL, ())
    for number in range(1, max_rounds + 1):
        moves = candidates_of(context, shapes_by_rules(context, rounds))
        judged = judged_round(context, moves, {})
        if judged.decision is Decision.ACCEPT or not moves:
            break
        rounds.append(_bare_round(number))
    chosen = by_critic(context, judged) or by_arbiter(context, judged)
    return _choice(context, judged, chosen)


def _choice(context: Context, judged: JudgedRound, chosen: JudgedCandidate | None) -> Choice:
    leaving = _exit_advice(context)
    if leaving is not None and leaving.recommended:
        return Choice(kind="exit", index=None, reasons=leaving.reasons)
    if chosen is None or chosen.judgment.verdict is JudgmentVerdict.VETO:
        reason = _ALL_VETOED if judged.moves else _NOTHING_TO_MOVE
        return _hold(reason, *_veto_reasons(judged))
    evaluation = _evaluation(context, chosen)
    move = chosen.evaluated
    if move.cost is None:
        return _hold("HOLD wins: what the move costs is unknown")
    life = expected_life_hours(evaluation.market, move.stake)
    comparison = compare_with_hold(move.gain_24h, life, move.cost)
    if not comparison.move_wins or move.gain_24h is None:
        return _hold(comparison.words)
    if evaluation.hold is not None and _is_healthy(context):
        held = net_24h(evaluation.market, evaluation.hold)
        if held is not None and not worth_leaving_health(held, move.gain_24h):
            return _hold(_left_alone(held, held + move.gain_24h))
    return Choice(
        kind="move",
        index=move.candidate.index,
        reasons=(comparison.words, chosen.judgment.reason),
    )


def _hold(*reasons: str) -> Choice:
    return Choice(kind="hold", index=None, reasons=reasons)


def _left_alone(held: float, moved: float) -> str:
    return (
        "HOLD wins: the position is in range and keeps its floor, and the best move would net "
        f"{usd(moved)} a day where it nets {usd(held)}, less than twice as much"
    )


def _verdict(
    context: Context, judged: JudgedRound, chosen: JudgedCandidate | None, choice: Choice
) -> PlanVerdict:
    evaluation = _evaluation(context, chosen)
    assumed = evaluation.observed.market.sigma_assumed
    if choice.kind == "move" and chosen is not None:
        return move_verdict(chosen.judgment.verdict, volatility_assumed=assumed)
    if choice.kind == "exit":
        return stay_verdict((), thin=False, volatility_assumed=assumed)
    return stay_verdict(
        [move.judgment.verdict for move in judged.moves],
        thin=evaluation.hold is not None and not _is_healthy(context),
        volatility_assumed=assumed,
    )


def _confidence(
    context: Context, judged: JudgedRound, chosen: JudgedCandidate | None, choice: Choice
) -> float:
    if choice.kind == "exit":
        evaluation = evaluation_of(context)
        # A door that can be shut is a reason at any volatility.
        return 1.0 if evaluation.dangers else exit_confidence(*_windows(evaluation))
    if choice.kind == "move" and chosen is not None:
        return move_confidence(_contest(context, [chosen]))
    return hold_confidence(_contests(context, judged))


def _contests(context: Context, judged: JudgedRound) -> list[Contest]:
    """HOLD against the moves that may be made, by pool, since each pool has its own market."""
    by_pool: dict[str, list[JudgedCandidate]] = {}
    for move in judged.moves:
        if move.judgment.verdict is not JudgmentVerdict.VETO:
            by_pool.setdefault(move.evaluated.candidate.pool_id, []).append(move)
    return [_contest(context, moves) for moves in by_pool.values()]


def _contest(context: Context, moves: Sequence[JudgedCandidate]) -> Contest:
    evaluation = _evaluation(context, moves[0])
    evaluated = [move.evaluated for move in moves]
    return Contest(
        market=evaluation.market,
        hold=evaluation.hold,
        moves=tuple((one.stake, one.cost) for one in evaluated if one.cost is not None),
        healthy=_is_healthy(context),
    )


def _exit_advice(context: Context) -> ExitAdvice | None:
    evaluation = evaluation_of(context)
    if not isinstance(context, MarketContext) or evaluation.hold is None:
        return None
    buffers = look_at(evaluation.market, evaluation.hold).exit.buffers
    day, week = _windows(evaluation)
    return advise_exit(PROFILES[context.profile], buffers, day, week, evaluation.dangers)


def _is_healthy(context: Context) -> bool:
    """In range, with a buffer that keeps the profile's floor."""
    evaluation = evaluation_of(context)
    if evaluation.hold is None:
        return False
    buffers = look_at(evaluation.market, evaluation.hold).exit.buffers
    return not below_own_floor(PROFILES[context.profile], buffers)


def _windows(evaluation: EvaluationContext) -> tuple[VolatilityWindow, VolatilityWindow]:
    market = evaluation.observed.market
    return (
        VolatilityWindow(market.sigma_24h, market.implied_sigma_24h),
        VolatilityWindow(market.sigma_7d, market.implied_sigma_7d),
    )


def _moves(judged: JudgedRound) -> list[JudgedMove]:
    return [
        JudgedMove(index, move.evaluated.numbers, move.judgment.verdict)
        for index, move in enumerate(judged.moves)
    ]


def _evaluation(context: Context, chosen: JudgedCandidate | None) -> EvaluationContext:
    shape = None if chosen is None else chosen.evaluated.candidate.shape
    return evaluation_of(context, 0 if shape is None else shape.pool_index)


def _veto_reasons(judged: JudgedRound) -> tuple[str, ...]:
    return tuple(
        f"candidate {index}: {move.judgment.reason}" for index, move in enumerate(judged.moves)
    )


def _recommended(debate: Debate, moves: Sequence[Candidate], choice: Choice) -> Candidate:
    if choice.kind == "move" and choice.index is not None:
        return moves[choice.index]
    if choice.kind == "exit" and debate.exit is not None:
        return debate.exit
    return debate.hold


def _rejected(rounds: Sequence[DebateRound], choice: Choice) -> list[Rejected]:
    last = len(rounds)
    return [
        Rejected(
            index=index,
            round=one.number,
            verdict=candidate.judgment.verdict,
            why=candidate.judgment.reason,
        )
        for one in rounds
        for index, candidate in enumerate(one.candidates)
        if candidate.judgment is not None
        and not (choice.kind == "move" and one.number == last and index == choice.index)
    ]


def _bare_round(number: int) -> DebateRound:
    from agents.lp.payloads import DebateRound

    return DebateRound(number=number, candidates=(), rationale="", answers=(), proposed_by="rules")
