"""From judged rounds to one plan: EXIT when it must be, HOLD unless a move beats it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agents.facts import MarketContext
from agents.ground import Ground, ground_of
from agents.judging import Judged, JudgedRound, judged_round
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
from agents.numbers.confidence import exit_confidence, hold_confidence, move_confidence
from agents.numbers.outlook import expected_life_hours, look_at
from agents.numbers.profiles import PROFILES
from agents.numbers.rules import Decision, JudgmentVerdict
from agents.plan import Choice, Plan, Rejected, plan_identity
from agents.proposing import candidates_of, shapes_by_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.facts import CreateContext
    from agents.numbers.choosing import PlanVerdict
    from agents.payloads import Debate, Round
    from agents.plan import Candidate

    Context = MarketContext | CreateContext

_NOTHING_TO_MOVE = "there is nothing in this position to move"
_ALL_VETOED = "every move was vetoed"
_LEFT_ALONE = (
    "HOLD wins: the position is in range and keeps its floor, and no move would net twice as much"
)


@dataclass(frozen=True, slots=True)
class _Outcome:
    choice: Choice
    verdict: PlanVerdict
    confidence: float


def by_critic(context: Context, judged: JudgedRound) -> Judged | None:
    """The accepted move the profile's tiebreak prefers."""
    chosen = best_accepted(PROFILES[context.profile], _moves(judged))
    return None if chosen is None else judged.moves[chosen.index]


def by_arbiter(context: Context, judged: JudgedRound) -> Judged | None:
    """The best by score among those not vetoed, ties by the profile."""
    chosen = arbiter_choice(PROFILES[context.profile], _moves(judged))
    return None if chosen is None else judged.moves[chosen.index]


def plan_of(
    debate: Debate,
    judged: JudgedRound,
    chosen: Judged | None,
    *,
    decided_by: Literal["critic", "arbiter"],
) -> Plan:
    """The plan a debate ends in; whoever chose, the floors and HOLD have the last word."""
    context = debate.context
    outcome = _outcome(context, judged, chosen)
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
        regime=_ground(context, chosen).observed.regime,
        decided_by=decided_by,
        rounds=len(debate.rounds),
        decision=judged.decision,
        verdict=outcome.verdict,
        confidence=outcome.confidence,
        choice=outcome.choice,
        recommended=_recommended(debate, moves, outcome.choice),
        candidates=moves,
        hold=debate.hold,
        exit=debate.exit,
        rejected=tuple(_rejected(debate.rounds, outcome.choice)),
        rules_alone=rules_alone(context, debate.max_rounds),
        context_hash=debate.context_hash,
        sources=context.sources,
    )
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def rules_alone(context: Context, max_rounds: int) -> Choice:
    """What comes out when nobody argues: the same rounds by the deterministic path."""
    rounds: list[Round] = []
    judged = JudgedRound((), Decision.VETO_ALL, ())
    for number in range(1, max_rounds + 1):
        moves = candidates_of(context, shapes_by_rules(context, rounds))
        judged = judged_round(context, moves, {})
        if judged.decision is Decision.ACCEPT or not moves:
            break
        rounds.append(_bare_round(number))
    chosen = by_critic(context, judged) or by_arbiter(context, judged)
    return _outcome(context, judged, chosen).choice


def _outcome(context: Context, judged: JudgedRound, chosen: Judged | None) -> _Outcome:
    leaving = _exit_advice(context)
    if leaving is not None and leaving.recommended:
        return _leave(context, leaving)
    if chosen is None or chosen.judgment.verdict is JudgmentVerdict.VETO:
        reason = _ALL_VETOED if judged.moves else _NOTHING_TO_MOVE
        return _stay(context, judged, (reason, *_veto_reasons(judged)))
    ground = _ground(context, chosen)
    move = chosen.evaluated
    if move.cost is None:
        return _stay(context, judged, ("HOLD wins: what the move costs is unknown",))
    life = expected_life_hours(ground.market, move.stake)
    comparison = compare_with_hold(move.gain_24h, life, move.cost)
    if not comparison.move_wins or move.gain_24h is None:
        return _stay(context, judged, (comparison.words,))
    healthy = _is_healthy(context)
    net = None if ground.hold is None else look_at(ground.market, ground.hold).net_24h
    if healthy and not worth_leaving_health(net, move.gain_24h):
        return _stay(context, judged, (_LEFT_ALONE, comparison.words))
    return _Outcome(
        Choice(
            kind="move",
            index=move.candidate.index,
            reasons=(comparison.words, chosen.judgment.reason),
        ),
        move_verdict(
            chosen.judgment.verdict, volatility_assumed=ground.observed.market.sigma_assumed
        ),
        move_confidence(ground.market, ground.hold, move.stake, move.cost, healthy=healthy),
    )


def _leave(context: Context, advice: ExitAdvice) -> _Outcome:
    ground = ground_of(context)
    day, week = _windows(ground)
    # A door that can be shut is a reason at any volatility.
    certain = bool(_dangers(ground))
    return _Outcome(
        Choice(kind="exit", index=None, reasons=advice.reasons),
        stay_verdict((), thin=False, volatility_assumed=ground.observed.market.sigma_assumed),
        1.0 if certain else exit_confidence(day, week),
    )


def _stay(context: Context, judged: JudgedRound, reasons: tuple[str, ...]) -> _Outcome:
    ground = ground_of(context)
    moves = [
        (move.evaluated.stake, move.evaluated.cost)
        for move in judged.moves
        if move.evaluated.cost is not None
    ]
    verdict = stay_verdict(
        [move.judgment.verdict for move in judged.moves],
        thin=ground.hold is not None and not _is_healthy(context),
        volatility_assumed=ground.observed.market.sigma_assumed,
    )
    return _Outcome(
        Choice(kind="hold", index=None, reasons=reasons),
        verdict,
        hold_confidence(ground.market, ground.hold, moves, healthy=_is_healthy(context)),
    )


def _exit_advice(context: Context) -> ExitAdvice | None:
    ground = ground_of(context)
    if not isinstance(context, MarketContext) or ground.hold is None:
        return None
    buffers = look_at(ground.market, ground.hold).exit.buffers
    day, week = _windows(ground)
    return advise_exit(PROFILES[context.profile], buffers, day, week, _dangers(ground))


def _is_healthy(context: Context) -> bool:
    """In range, with a buffer that keeps the profile's floor."""
    ground = ground_of(context)
    if ground.hold is None:
        return False
    buffers = look_at(ground.market, ground.hold).exit.buffers
    return not below_own_floor(PROFILES[context.profile], buffers)


def _windows(ground: Ground) -> tuple[VolatilityWindow, VolatilityWindow]:
    market = ground.observed.market
    return (
        VolatilityWindow(market.sigma_24h, market.implied_sigma_24h),
        VolatilityWindow(market.sigma_7d, market.implied_sigma_7d),
    )


def _dangers(ground: Ground) -> tuple[str, ...]:
    pool = ground.observed.pool
    return pool.hook_powers if pool.hook_danger == "dangerous" else ()


def _moves(judged: JudgedRound) -> list[JudgedMove]:
    return [
        JudgedMove(index, move.evaluated.numbers, move.judgment.verdict)
        for index, move in enumerate(judged.moves)
    ]


def _ground(context: Context, chosen: Judged | None) -> Ground:
    shape = None if chosen is None else chosen.evaluated.candidate.shape
    return ground_of(context, 0 if shape is None else shape.pool_index)


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


def _rejected(rounds: Sequence[Round], choice: Choice) -> list[Rejected]:
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


def _bare_round(number: int) -> Round:
    from agents.payloads import Round

    return Round(number=number, candidates=(), rationale="", answers=(), proposed_by="rules")
