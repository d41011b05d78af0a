"""From judged rounds to one plan: EXIT when it must be, HOLD unless a move beats it."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from agents.lp.advice_words import (
    PASSES_EVERY_LIMIT,
    WOULD,
    Rival,
    beside_words,
    coverage_statement,
    finding_against,
    finding_words,
    holds_back,
    keep_words,
    net_words,
    option_letter,
    short_reason,
)
from agents.lp.advising import (
    advised_move,
    decided_by_rule,
    hours_since_action,
    standing_advice,
    still_permitted,
)
from agents.lp.evaluation import Evaluated, exit_candidate, hold_candidate
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import CreateContext, MarketContext, ObservedPool, ScoutContext
from agents.lp.judge import JudgedCandidate, JudgedRound, judged_round
from agents.lp.payloads import Debate, DebateRound
from agents.lp.plan import (
    AssumptionCheck,
    Candidate,
    Choice,
    Dissent,
    Plan,
    PlanPoolFacts,
    Rejected,
    ShapeChoice,
    plan_identity,
)
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.statements import CLOSE, KEEP, Relation, Statement, claim, is_same_range
from agents.numbers.advice import Advice, AdviceReason, AdvisedAction
from agents.numbers.outlook import look_at
from agents.numbers.rounding import gain_over
from agents.numbers.rules import (
    MULTIPLES,
    PROFILES,
    Decision,
    JudgedMove,
    JudgmentVerdict,
    MarketMultiples,
    PlanVerdict,
    arbiter_choice,
    move_verdict,
    stay_verdict,
)
from chain.base.once_per_object import once_per_object
from chain.base.units import usd


def assumption_checks(
    context: ScoutContext, moves: Sequence[Evaluated], choice: Choice
) -> tuple[AssumptionCheck, ...]:
    """Volatility and fees, half and twice: which of them leave the choice as it is."""
    grounds = {_pool_index(move): evaluation_of(context, _pool_index(move)) for move in moves}
    return tuple(
        AssumptionCheck(
            assumption=assumption, survives=_same(context, grounds, moves, choice, changed)
        )
        for assumption, changed in MULTIPLES.items()
    )


def _same(
    context: ScoutContext,
    grounds: dict[int, EvaluationContext],
    moves: Sequence[Evaluated],
    choice: Choice,
    changed: MarketMultiples,
) -> bool | None:
    leaves = False
    if isinstance(context, MarketContext):
        evaluation = evaluation_of(context)
        if evaluation.dangers:
            # A door that can be shut is a reason in any market.
            return True
        advice = standing_advice(context, evaluation, changed)
        if not advice.is_known:
            return None
        leaves = advice.action is AdvisedAction.EXIT
    if choice.kind == "exit":
        return leaves
    if leaves:
        return False
    if any(ground.market.edge_7d is None for ground in grounds.values()):
        return None
    permitted = [
        move.candidate.index
        for move in moves
        if still_permitted(context, grounds[_pool_index(move)], move, changed)
    ]
    return choice.index in permitted if choice.kind == "move" else not permitted


def _pool_index(move: Evaluated) -> int:
    shape = move.candidate.shape
    return 0 if shape is None else shape.pool_index


_NOTHING_TO_MOVE = "there is nothing in this position to move"
_OWN_RANGE_ROUNDS = 2
"""What the rules would have had to find a range of theirs, beside one a person named."""
_ALL_VETOED = "every move breaks a limit of your profile"
_UNKNOWN = {AdviceReason.EDGE_UNKNOWN, AdviceReason.WORTH_UNKNOWN, AdviceReason.MOVE_UNKNOWN}


def chosen_move(
    context: ScoutContext, judged: JudgedRound, own: Candidate | None = None
) -> JudgedCandidate | None:
    """Of what may be chosen what the Critic accepts, then what `winners` says of its figures."""
    moves = eligible(context, judged, own)
    there = [
        JudgedMove(
            index,
            move.evaluated.numbers,
            _heard(move.judgment.verdict),
            move.evaluated.candidate.net_7d,
        )
        for index, move in enumerate(judged.moves)
        if move in moves
    ]
    chosen = arbiter_choice(PROFILES[context.profile], there)
    return None if chosen is None else judged.moves[chosen.index]


def _heard(verdict: JudgmentVerdict) -> JudgmentVerdict:
    """A model's veto puts a move behind the others; it takes none of them away."""
    return JudgmentVerdict.REVISE if verdict is JudgmentVerdict.VETO else verdict


def eligible(
    context: ScoutContext, judged: JudgedRound, own: Candidate | None = None
) -> tuple[JudgedCandidate, ...]:
    """What may be chosen whatever a model says: what the rules accept, else what they revise.

    Where the rules alone would make a move, nothing that nets less than it, and nothing that breaks
    a floor which it keeps.
    """
    permitted = [
        move
        for move in judged.moves
        if is_permitted(context, move) and not _waits_for_less(context, judged, move)
    ]
    accepted = [move for move in permitted if move.judgment.by_rules is JudgmentVerdict.ACCEPT]
    left = accepted or permitted
    stands = next((move for move in left if own and is_same_range(move.candidate, own)), None)
    if stands is None:
        return tuple(left)
    return tuple(move for move in left if move is stands or _is_no_worse(context, move, stands))


def _waits_for_less(context: ScoutContext, judged: JudgedRound, move: JudgedCandidate) -> bool:
    """Whether it lies beside the price and anything else should net more: then it is offered, and
    never advised."""
    if move.evaluated.numbers.entry is None:
        return False
    others = [hold_candidate(context), exit_candidate(context)]
    others += [each.evaluated.candidate for each in judged.moves if each is not move]
    net = move.evaluated.candidate.net_7d
    return net is None or any(
        other is not None and (other.net_7d is None or other.net_7d >= net) for other in others
    )


def own_move(debate: Debate) -> Candidate | None:
    """The move that the rules alone would make, where somebody else has spoken, too."""
    if _is_own_range(debate) or all(_is_by_rules(turn) for turn in debate.rounds):
        return None
    return rules_alone(debate.context, debate.max_rounds).move


def _is_no_worse(context: ScoutContext, move: JudgedCandidate, own: JudgedCandidate) -> bool:
    net, least = move.evaluated.candidate.net_7d, own.evaluated.candidate.net_7d
    if least is not None and (net is None or net < least):
        return False
    roomy = PROFILES[context.profile].liked_room * PROFILES[context.profile].buffer_floor_hours
    lasts, least_hours = (each.evaluated.numbers.buffers.at_1x for each in (move, own))
    if lasts < roomy <= least_hours:
        return False
    kept = {found.rule for found in own.judgment.findings if found.verdict == "accept"}
    broken = {found.rule for found in move.judgment.findings if found.verdict != "accept"}
    return kept.isdisjoint(broken)


def is_permitted(context: ScoutContext, move: JudgedCandidate) -> bool:
    """Whether no floor vetoes a move and the rule lets it win over HOLD and EXIT."""
    return (
        move.judgment.by_rules is not JudgmentVerdict.VETO
        and advised_move(context, move.evaluated).permits
    )


def plan_of(
    debate: Debate,
    judged: JudgedRound,
    chosen: JudgedCandidate | None,
    *,
    decided_by: Literal["critic", "arbiter"],
    dissent: tuple[Dissent, ...] = (),
) -> Plan:
    """The plan a debate ends in; whoever chose, the floors and HOLD have the last word."""
    context = debate.context
    choice = _choice(context, judged, chosen)
    alone = _rules_outcome(debate, judged)
    moves = tuple(_shapeless(move) for move in judged.moves)
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
        assumptions=assumption_checks(context, [move.evaluated for move in judged.moves], choice),
        choice=choice,
        recommended=_recommended(debate, moves, choice),
        candidates=moves,
        hold=debate.hold,
        exit=debate.exit,
        pools=tuple(_plan_pools(context, (debate.hold, *moves, *filter(None, [alone.move])))),
        bought=_bought(context, moves, choice),
        rejected=tuple(_rejected(debate.rounds, choice)),
        rules_alone=alone.choice,
        rules_move=alone.move,
        context_hash=debate.context_hash,
        sources=context.sources,
        dissent=(*_of_the_critic(context, judged, choice), *dissent),
        own_range=_is_own_range(debate),
    )
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def _of_the_critic(context: ScoutContext, judged: JudgedRound, choice: Choice) -> Iterator[Dissent]:
    """What a Critic's model would rather have done than the move that is made."""
    if choice.kind != "move" or choice.index is None:
        return
    chosen = judged.moves[choice.index].candidate
    judgment = judged.moves[choice.index].judgment
    verdict = judgment.verdict
    if verdict is judgment.by_rules:
        return
    others = (
        index
        for index, move in enumerate(judged.moves)
        if move.judgment.verdict is JudgmentVerdict.ACCEPT
    )
    wanted = next(others, None)
    why = "" if wanted is None else overruling_reason(context, judged, wanted, chosen)
    said: Literal["revise", "veto"] = "veto" if verdict is JudgmentVerdict.VETO else "revise"
    yield Dissent(role="critic", verdict=said, wanted=wanted, overruled=why)


def overruling_reason(
    context: ScoutContext, judged: JudgedRound, index: int, chosen: Candidate | None
) -> str:
    """Which rule a named move breaks, in half a sentence; the rules choose in its place."""
    if index >= len(judged.moves):
        return "it is not on the table"
    move = judged.moves[index]
    if (against := finding_against(move.judgment)) is not None:
        return finding_words(against, move.candidate).words
    if is_permitted(context, move):
        less = None if chosen is None else gain_over(chosen.net_7d, move.candidate.net_7d)
        return "it lasts less" if less is None or less <= 0 else f"it should net {usd(less)} less"
    told = advised_move(context, move.evaluated)
    since, name = hours_since_action(context), option_letter(index)
    return holds_back(name, told.advice, inside=False, since=since, move=told).words


class RulesOutcome(NamedTuple):
    """What the rules choose by themselves, and the move where it is one."""

    choice: Choice
    move: Candidate | None
    shape: ShapeChoice | None = None


def _rules_outcome(debate: Debate, judged: JudgedRound) -> RulesOutcome:
    """What the rules choose; known already where nobody but they have spoken."""
    if _is_own_range(debate):
        return rules_alone(debate.context, _OWN_RANGE_ROUNDS)
    if all(_is_by_rules(turn) for turn in debate.rounds):
        return outcome_by_rules(debate.context, judged)
    return rules_alone(debate.context, debate.max_rounds)


def _is_own_range(debate: Debate) -> bool:
    return any(
        candidate.shape and candidate.shape.own_range for candidate in debate.latest.candidates
    )


def outcome_by_rules(
    context: ScoutContext, judged: JudgedRound, own: Candidate | None = None
) -> RulesOutcome:
    """What the rules choose among moves that they have judged, their own plan among them."""
    chosen = chosen_move(context, judged, own)
    choice = _choice(context, judged, chosen)
    if chosen is None or choice.kind != "move":
        return RulesOutcome(choice, None)
    return RulesOutcome(choice, _shapeless(chosen), chosen.evaluated.candidate.shape)


def _shapeless(move: JudgedCandidate) -> Candidate:
    """A shape is what a model chose; a plan holds only what code made of it."""
    return move.candidate.model_copy(update={"shape": None})


def _is_by_rules(debate_round: DebateRound) -> bool:
    judgments = [candidate.judgment for candidate in debate_round.candidates]
    return debate_round.proposed_by == "rules" and all(
        judgment is not None and judgment.verdict is judgment.by_rules for judgment in judgments
    )


def rules_alone(context: ScoutContext, max_rounds: int) -> RulesOutcome:
    """What comes out when nobody argues: the same rounds by the deterministic path."""
    known = _outcomes(context)
    if max_rounds not in known:
        known[max_rounds] = _rules_alone(context, max_rounds)
    return known[max_rounds]


@once_per_object
def _outcomes(_context: ScoutContext) -> dict[int, RulesOutcome]:
    """Those that were asked for, by the number of rounds."""
    return {}


def _rules_alone(context: ScoutContext, max_rounds: int) -> RulesOutcome:
    rounds: list[DebateRound] = []
    judged = JudgedRound((), Decision.VETO_ALL, ())
    for number in range(1, max_rounds + 1):
        moves = candidates_of(context, shapes_by_rules(context, rounds))
        judged = judged_round(context, moves, {})
        if judged.decision is Decision.ACCEPT or not moves or decided_by_rule(context):
            break
        rounds.append(_bare_round(number))
    return outcome_by_rules(context, judged)


def _choice(context: ScoutContext, judged: JudgedRound, chosen: JudgedCandidate | None) -> Choice:
    evaluation = evaluation_of(context)
    standing = standing_advice(context, evaluation)
    hold, leave = hold_candidate(context), exit_candidate(context)
    if leave is not None and standing.action is AdvisedAction.EXIT:
        told = [Statement(words) for words in evaluation.dangers] or [
            net_words(CLOSE, leave, hold),
            coverage_statement(KEEP, standing.edge_7d),
            *_beside(context, judged),
        ]
        return _chosen("exit", None, standing.reasons, *told)
    if chosen is None or not is_permitted(context, chosen):
        return _hold(context, judged, standing)
    advice, candidate = advised_move(context, chosen.evaluated).advice, chosen.candidate
    name = option_letter(candidate.index or 0)
    objected = Statement(chosen.judgment.reason)
    if chosen.judgment.verdict is not chosen.judgment.by_rules:
        # The rules' plan stays, and the person hears who would not make it.
        would = WOULD[chosen.judgment.verdict.value]
        objected = Statement(
            f"the Critic's model would {would}: «{chosen.judgment.reason.rstrip('.')}»"
        )
    elif chosen.judgment.reason == PASSES_EVERY_LIMIT:
        objected = Statement(PASSES_EVERY_LIMIT, (claim(name, Relation.MEETS_LIMITS),))
    return _chosen(
        "move",
        candidate.index,
        advice.reasons,
        net_words(name, candidate, hold),
        coverage_statement(name, advice.edge_7d),
        objected,
    )


def _hold(context: ScoutContext, judged: JudgedRound, standing: Advice) -> Choice:
    """Why nothing is done: nothing beats it, or a rule holds back what looks better."""
    hold = hold_candidate(context)
    codes = standing.reasons
    told: list[Statement] = []
    if not judged.moves:
        codes, told = (AdviceReason.NO_CANDIDATE,), [Statement(_NOTHING_TO_MOVE)]
    elif codes[0] is AdviceReason.NO_CANDIDATE or isinstance(context, CreateContext):
        best = arbiter_choice(PROFILES[context.profile], _moves(judged))
        if best is None:
            told = [Statement(_ALL_VETOED), *map(Statement, _veto_reasons(judged))]
            return _chosen("hold", None, (AdviceReason.NO_CANDIDATE,), *told)
        codes = advised_move(context, judged.moves[best.index].evaluated).advice.reasons
    if not _UNKNOWN.isdisjoint(codes) or hold.net_7d is None:
        told.append(Statement(_unknown_words(context, codes)))
    elif rival := _rival(context, judged, standing):
        told += [keep_words(hold, rival), *_allowed_and_held_back(context, judged, rival)]
    elif not told:
        told.append(keep_words(hold, None))
    if AdviceReason.THIN_BUFFER in codes:
        words = "it may leave its range soon; wait until it does"
        told.append(Statement(words, (claim(KEEP, Relation.IN_RANGE),)))
    if AdviceReason.POOL_DOES_NOT_PAY in codes:
        told += [coverage_statement(KEEP, standing.edge_7d), *_beside(context, judged)]
    return _chosen("hold", None, codes, *told)


def _rival(context: ScoutContext, judged: JudgedRound, standing: Advice) -> Rival | None:
    """What should net the most, if that is more than Keep does."""
    hold, leave = hold_candidate(context), exit_candidate(context)
    options = [move.candidate for move in judged.moves]
    if leave is not None and isinstance(context, MarketContext) and context.position.liquidity:
        options.append(leave)
    known = [option for option in options if option.net_7d is not None]
    best = max(known, key=lambda option: option.net_7d or 0.0, default=None)
    more = None if best is None else gain_over(best.net_7d, hold.net_7d)
    if best is None or not more or more < 0:
        return None
    if best.index is None:
        inside = isinstance(context, MarketContext) and _is_inside(context)
        since = hours_since_action(context)
        held = holds_back(CLOSE, standing, inside=inside, since=since, move=None)
        return Rival(CLOSE, best, held)
    name, judged_move = option_letter(best.index), judged.moves[best.index]
    if (against := finding_against(judged_move.judgment)) is not None:
        return Rival(name, best, finding_words(against, best))
    return Rival(name, best, _held_back(context, judged_move))


def _held_back(context: ScoutContext, move: JudgedCandidate) -> Statement:
    """The rule that keeps a move from being made which breaks no limit."""
    told, name = advised_move(context, move.evaluated), option_letter(move.candidate.index or 0)
    inside = isinstance(context, MarketContext) and _is_inside(context)
    since = hours_since_action(context)
    return holds_back(name, told.advice, inside=inside, since=since, move=told)


def _allowed_and_held_back(
    context: ScoutContext, judged: JudgedRound, rival: Rival
) -> Iterator[Statement]:
    """The best of what breaks no limit, where what looks best of all does."""
    hold = hold_candidate(context)
    better = [
        (more, move)
        for move in judged.moves
        if move.evaluated.numbers.entry is None
        and finding_against(move.judgment) is None
        and (more := gain_over(move.candidate.net_7d, hold.net_7d)) is not None
        and more > 0
    ]
    more, best = max(better, key=lambda each: each[0], default=(0.0, None))
    if best is None or option_letter(best.candidate.index or 0) == rival.name:
        return
    name, rule = option_letter(best.candidate.index or 0), _held_back(context, best)
    yield Statement(
        f"{name} breaks no limit and looks {usd(more)} better, but {rule.words}",
        (
            claim(name, Relation.MEETS_LIMITS),
            claim(name, Relation.NETS_MORE, more, than=KEEP),
            *rule.claims,
        ),
    )


def _chosen(
    kind: Literal["hold", "exit", "move"],
    index: int | None,
    codes: tuple[AdviceReason, ...],
    *told: Statement,
) -> Choice:
    return Choice(
        kind=kind,
        index=index,
        codes=codes,
        reasons=tuple(statement.words for statement in told),
        claims=tuple(made for statement in told for made in statement.claims),
    )


def _unknown_words(context: ScoutContext, codes: Sequence[AdviceReason]) -> str:
    reason = next((code for code in codes if code in _UNKNOWN), AdviceReason.WORTH_UNKNOWN)
    words = f"{short_reason(reason)}, and nothing is moved on what is not known"
    why = context.sources.get("edge of 7 d", "").removeprefix("unknown: ")
    if reason is AdviceReason.EDGE_UNKNOWN and why:
        step = ": set another, zuno --network NAME --rpc URL" if "endpoint" in why else ""
        return f"{words}; it is unknown because {why}{step}"
    return words


def _beside(context: ScoutContext, judged: JudgedRound) -> Iterator[Statement]:
    """Close and the widest range, where a pool does not pay."""
    leave = exit_candidate(context)
    if leave is None or not isinstance(context, MarketContext) or not _is_inside(context):
        return
    held = context.position.tick_upper - context.position.tick_lower
    wider = [move.candidate for move in judged.moves if _width(move.candidate) > held]
    yield beside_words(leave, max(wider, key=_width, default=None))


def _width(candidate: Candidate) -> int:
    return (candidate.tick_upper or 0) - (candidate.tick_lower or 0)


def _is_inside(context: MarketContext) -> bool:
    position = context.position
    return position.tick_lower <= context.observed.pool.tick < position.tick_upper


def _verdict(
    context: ScoutContext, judged: JudgedRound, chosen: JudgedCandidate | None, choice: Choice
) -> PlanVerdict:
    observed = _evaluation(context, chosen).observed
    cautious = observed.market.sigma_assumed
    if choice.kind == "move" and chosen is not None:
        net = chosen.evaluated.candidate.net_7d
        doubts = (
            cautious
            or chosen.cautioned
            or net is None
            or net < 0
            # Only a hook the person allowed gets this far.
            or observed.pool.hook_danger == "dangerous"
        )
        harder = chosen.judgment.verdict is not chosen.judgment.by_rules
        return move_verdict(chosen.judgment.by_rules, cautious=doubts or harder)
    if choice.kind == "exit":
        return stay_verdict((), cautious=cautious)
    return stay_verdict(
        [move.judgment.by_rules for move in judged.moves],
        cautious=cautious or _is_thin(context) or not _UNKNOWN.isdisjoint(choice.codes),
    )


def _is_thin(context: ScoutContext) -> bool:
    """What is held has a buffer under what the profile asks of a move."""
    evaluation = evaluation_of(context)
    if evaluation.hold is None:
        return False
    buffers = look_at(evaluation.market, evaluation.hold).exit.buffers
    return buffers.at_1x < PROFILES[context.profile].buffer_floor_hours


def _bought(context: ScoutContext, moves: Sequence[Candidate], choice: Choice) -> str | None:
    """The token a new position would buy though the person named only the one they have."""
    if not isinstance(context, CreateContext) or context.goal.pair is not None:
        return None
    if choice.index is None or len(context.goal.capital) > 1:
        return None
    swap = moves[choice.index].prep_action
    if swap is None:
        return None
    pool = observed_pool(context, moves[choice.index].pool_id).pool
    return pool.currency1 if swap.zero_for_one else pool.currency0


def _plan_pools(context: ScoutContext, candidates: Sequence[Candidate]) -> Iterator[PlanPoolFacts]:
    for pool_id in dict.fromkeys(candidate.pool_id for candidate in candidates):
        observed = observed_pool(context, pool_id)
        pool = observed.pool
        yield PlanPoolFacts(
            pool_id=pool_id,
            currency0=pool.currency0,
            currency1=pool.currency1,
            decimals0=observed.token0.decimals,
            decimals1=observed.token1.decimals,
            fee=pool.fee,
            tick_spacing=pool.tick_spacing,
            hooks=pool.hooks,
            lp_fee=pool.lp_fee,
            sqrt_price_x96=pool.sqrt_price_x96,
            tick=pool.tick,
            edge_7d=observed.market.edge_7d,
        )


def observed_pool(context: ScoutContext, pool_id: str) -> ObservedPool:
    return next(pool for pool in context.pools if pool.pool.pool_id == pool_id)


def _moves(judged: JudgedRound) -> list[JudgedMove]:
    return [
        JudgedMove(
            index,
            move.evaluated.numbers,
            move.judgment.by_rules,
            move.evaluated.candidate.net_7d,
        )
        for index, move in enumerate(judged.moves)
    ]


def _evaluation(context: ScoutContext, chosen: JudgedCandidate | None) -> EvaluationContext:
    shape = None if chosen is None else chosen.evaluated.candidate.shape
    return evaluation_of(context, 0 if shape is None else shape.pool_index)


def _veto_reasons(judged: JudgedRound) -> tuple[str, ...]:
    return tuple(
        f"{option_letter(index)}: {move.judgment.reason}" for index, move in enumerate(judged.moves)
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
            round=turn.number,
            verdict=candidate.judgment.verdict,
            why=candidate.judgment.reason,
        )
        for turn in rounds
        for index, candidate in enumerate(turn.candidates)
        if candidate.judgment is not None
        and not (choice.kind == "move" and turn.number == last and index == choice.index)
    ]


def _bare_round(number: int) -> DebateRound:
    return DebateRound(number=number, candidates=(), rationale="", answers=(), proposed_by="rules")
