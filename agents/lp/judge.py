"""The Critic's arithmetic: every number again from Scout's facts, then the profile's rules."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from agents.lp.advice_words import PASSES_EVERY_LIMIT
from agents.lp.evaluation import Evaluated, evaluate, exit_candidate, hold_candidate
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import MarketContext, PricePathFacts, ScoutContext, path_steps
from agents.lp.payloads import Debate, Objection, context_hash
from agents.lp.plan import Candidate, MoveJudgment, ReplayedRange, RuleFinding, ShapeChoice
from agents.numbers.outlook import PathStep, RangeReplay, Stake, hourly_roots, replay_range
from agents.numbers.rounding import writable
from agents.numbers.rules import (
    PROFILES,
    Decision,
    JudgmentVerdict,
    Rule,
    RuleJudgment,
    RuleResult,
    decide,
    deserves_caution,
    judge_move,
    strictest,
    with_findings,
)
from agents.numbers.shapes import MAX_CANDIDATES, ShapeError, needed_width
from chain.base.once_per_object import once_per_object
from chain.base.units import hours, percent, usd
from chain.math.liquidity import LiquidityError

# The Strategist's figures come from rates and a model of the price. Here nothing is modelled: the
# last day's swaps, and the week by its hours, are run through the range as if it had been there.
LEAST_SHARE = 0.2
"""Of the price's way: a range that was hardly visited says too little about what it earns."""
_DAYS = {"24 h": 1.0, "7 d": 7.0}
_SECONDS_PER_HOUR = 3_600
_LOST_TO_ROUNDING = 0.001


class WalkedPath(NamedTuple):
    steps: tuple[PathStep, ...]
    hourly: tuple[float, ...]


class WalkedPaths(Struct, frozen=True, eq=False):
    """The ways of one pool's price, ready to take ranges along."""

    day: WalkedPath | None
    week: WalkedPath | None


class ReplayOpinion(Struct, frozen=True):
    day: ReplayedRange | None
    week: ReplayedRange | None
    findings: tuple[RuleResult, ...]


@once_per_object
def walked_paths(evaluation: EvaluationContext) -> WalkedPaths:
    observed = evaluation.observed

    def walk(path: PricePathFacts | None) -> WalkedPath | None:
        if path is None:
            return None
        steps = path_steps(path, observed.pool.sqrt_price_x96)
        return WalkedPath(steps, hourly_roots(steps))

    return WalkedPaths(walk(observed.day_path), walk(observed.week_path))


def replay_opinion(
    evaluation: EvaluationContext, move: Evaluated, paths: WalkedPaths
) -> ReplayOpinion:
    """What the range would have earned, and where that is not what the Strategist expects."""
    along = _taken_along(paths, move.stake, evaluation.hold)
    day, week = (_in_dollars(replayed, evaluation.market.unit1_value) for replayed in along)
    told = (("24 h", day), ("7 d", week))
    findings = (_finding(span, replayed, move) for span, replayed in told if replayed is not None)
    return ReplayOpinion(day, week, tuple(finding for finding in findings if finding is not None))


# The Arbiter judges again what the Critic has judged; paths are told apart as objects.
@lru_cache(maxsize=64)
def _taken_along(
    paths: WalkedPaths, stake: Stake, held: Stake | None
) -> tuple[RangeReplay | None, RangeReplay | None]:
    """The day's replay and the week's."""
    day, week = (
        None if path is None else replay_range(path.steps, stake, held, path.hourly)
        for path in (paths.day, paths.week)
    )
    return day, week


def _in_dollars(found: RangeReplay | None, unit1: float | None) -> ReplayedRange | None:
    if found is None or unit1 is None:
        return None
    return ReplayedRange(
        fees_usd=found.fees * unit1,
        lvr_usd=found.lvr * unit1,
        in_range_share=found.in_range_share,
        steps=found.steps,
    )


def _finding(span: str, replayed: ReplayedRange, move: Evaluated) -> RuleResult | None:
    """Fees a day while the price was inside, against the low end of what is expected there."""
    candidate = move.candidate
    share, low = candidate.in_range_share, candidate.fee_low_24h
    high = candidate.fee_high_24h
    if replayed.in_range_share < LEAST_SHARE or not share or low is None or high is None:
        return None
    paid = replayed.fees_usd / replayed.in_range_share / _DAYS[span]
    least, most = low / share, high / share
    told = f"the past {span} would have earned {usd(paid)} a day"
    if paid < least:
        words = f"{told}; nine days in ten should bring at least {usd(least)}"
        return RuleResult(Rule.REPLAY, JudgmentVerdict.REVISE, paid, least, words)
    if paid > most:
        words = f"{told}; nine days in ten should bring at most {usd(most)}"
        return RuleResult(Rule.REPLAY, JudgmentVerdict.ACCEPT, paid, least, words)
    words = f"{told}, as expected, with {percent(replayed.in_range_share)} of the way inside"
    return RuleResult(Rule.REPLAY, JudgmentVerdict.ACCEPT, paid, least, words)


class NumbersDifferError(Exception):
    """A proposal whose numbers are not those its own facts give."""


class Opinion(Struct, frozen=True):
    """What a model says of a candidate; it counts only where it is stricter than the rules."""

    verdict: JudgmentVerdict
    reason: str


class JudgedCandidate(Struct, frozen=True):
    evaluated: Evaluated
    judgment: MoveJudgment
    cautioned: bool = False
    """Its own swap moves the price by more than the pool's fee."""

    @property
    def candidate(self) -> Candidate:
        return self.evaluated.candidate.model_copy(update={"judgment": self.judgment})


class JudgedRound(Struct, frozen=True):
    moves: tuple[JudgedCandidate, ...]
    decision: Decision
    objections: tuple[Objection, ...]


def recompute(debate: Debate) -> tuple[Evaluated, ...]:
    """The latest candidates evaluated anew; a difference anywhere refuses the proposal."""
    context = debate.context
    if context_hash(context) != debate.context_hash:
        raise NumbersDifferError("Scout's facts were changed on the way.")
    if debate.hold != hold_candidate(context) or debate.exit != exit_candidate(context):
        raise NumbersDifferError("The numbers of HOLD or EXIT are not those of Scout's facts.")
    if len(debate.latest.candidates) > MAX_CANDIDATES:
        raise NumbersDifferError(f"There are more than {MAX_CANDIDATES} candidates.")
    again = []
    for index, proposed in enumerate(debate.latest.candidates):
        shape = proposed.shape
        if shape is None or not (context.first_pool <= shape.pool_index < len(context.pools)):
            raise NumbersDifferError(f"Candidate {index} has no shape that can be recomputed.")
        try:
            evaluated = _again(evaluation_of(context, shape.pool_index), shape, index)
        except (ShapeError, LiquidityError) as error:
            raise NumbersDifferError(f"Candidate {index} cannot be. {error}") from None
        if evaluated.candidate != proposed.model_copy(update={"judgment": None}):
            raise NumbersDifferError(
                f"The numbers of candidate {index} are not those of its shape."
            )
        again.append(evaluated)
    return tuple(again)


# The Arbiter is handed what the Critic recomputed; neither takes it from the Strategist.
@lru_cache(maxsize=32)
def _again(evaluation: EvaluationContext, shape: ShapeChoice, index: int) -> Evaluated:
    return evaluate(evaluation, shape, index)


def judged_round(
    context: ScoutContext, moves: Sequence[Evaluated], opinions: Mapping[int, Opinion]
) -> JudgedRound:
    """The rules speak first; a model's opinion can only harden what they say."""
    rules = PROFILES[context.profile]
    judged: list[JudgedCandidate] = []
    points: list[tuple[int, str, float | None]] = []
    grounds: dict[int, tuple[EvaluationContext, WalkedPaths]] = {}
    for index, move in enumerate(moves):
        shape = move.candidate.shape
        pool_index = 0 if shape is None else shape.pool_index
        if pool_index not in grounds:
            ground = evaluation_of(context, pool_index)
            grounds[pool_index] = ground, walked_paths(ground)
        replay = replay_opinion(grounds[pool_index][0], move, grounds[pool_index][1])
        # Beside the price the past says what was earned elsewhere.
        past = replay.findings if move.numbers.entry is None else ()
        found = (*past, *_against_the_goal(context, move))
        by_rules = with_findings(judge_move(move.numbers, rules), found)
        judgment = _judgment(by_rules, opinions.get(index)).model_copy(
            update={"replay_24h": replay.day, "replay_7d": replay.week}
        )
        judged.append(JudgedCandidate(move, judgment, deserves_caution(by_rules.findings)))
        for finding in by_rules.objections:
            floor = finding.rule is Rule.BUFFER_FLOOR
            needed = _needed_multiplier(context, move) if floor else None
            points.append((index, finding.words, needed))
        if judgment.verdict is not judgment.by_rules:
            points.append((index, judgment.reason, None))
    # One that waits beside the price ends no round: the others are argued about all the same.
    argued = [move for move in judged if move.evaluated.numbers.entry is None]
    return JudgedRound(
        moves=tuple(judged),
        decision=decide(move.judgment.verdict for move in argued or judged),
        objections=tuple(
            Objection(point=number, candidate=index, words=words, needed_multiplier=needed)
            for number, (index, words, needed) in enumerate(points, 1)
        ),
    )


def _against_the_goal(context: ScoutContext, move: Evaluated) -> Iterator[RuleResult]:
    """A token that is to be kept is not sold, and no cost is paid that comes back too late."""
    if not isinstance(context, MarketContext) or context.keep is None:
        return
    position, after = context.position, move.candidate
    if context.keep.token == context.observed.pool.currency0:
        before, kept = position.inside.amount0, after.amount0 + after.comes_back.amount0
    else:
        before, kept = position.inside.amount1, after.amount1 + after.comes_back.amount1
    sold = max(0, before - kept) / before if before else 0.0
    if sold > _LOST_TO_ROUNDING:
        words = f"it sells {percent(sold)} of the token you want to keep"
        yield RuleResult(Rule.GOAL, JudgmentVerdict.VETO, sold, 0.0, words)
    if context.keep.until is None or move.numbers.break_even_hours is None:
        return
    left = max(0, context.keep.until - context.time) / _SECONDS_PER_HOUR
    needed = move.numbers.break_even_hours
    if needed > left:
        words = f"it pays back later than in {hours(left)}, when you need the token"
        yield RuleResult(Rule.GOAL, JudgmentVerdict.VETO, None, None, words)


def _judgment(by_rules: RuleJudgment, opinion: Opinion | None) -> MoveJudgment:
    said = [by_rules.verdict] if opinion is None else [by_rules.verdict, opinion.verdict]
    verdict = strictest(said)
    # Who made the judgment as strict as it is gives the reason: no model explains a floor away.
    if opinion is None or verdict is by_rules.verdict:
        reason = "; ".join(
            objection.words for objection in by_rules.objections
        ) or _nothing_against(by_rules)
    else:
        reason = opinion.reason
    return MoveJudgment(
        verdict=verdict,
        by_rules=by_rules.verdict,
        findings=tuple(
            RuleFinding(
                rule=finding.rule,
                verdict=finding.verdict,
                value=writable(finding.value),
                limit=writable(finding.limit),
                words=finding.words,
            )
            for finding in by_rules.findings
        ),
        reason=reason,
    )


def _nothing_against(by_rules: RuleJudgment) -> str:
    """That nothing was found against a move, and the one thing that is said all the same."""
    if not deserves_caution(by_rules.findings):
        return PASSES_EVERY_LIMIT
    swap = next(finding.words for finding in by_rules.findings if finding.rule is Rule.OWN_SWAP)
    return f"{PASSES_EVERY_LIMIT}; {swap}"


def _needed_multiplier(context: ScoutContext, move: Evaluated) -> float | None:
    shape = move.candidate.shape
    if shape is None:
        return None
    evaluation = evaluation_of(context, shape.pool_index)
    floor = PROFILES[context.profile].buffer_floor_hours
    needed = needed_width(
        floor,
        evaluation.ticks_a_day,
        evaluation.base_half_width,
        evaluation.observed.pool.tick_spacing,
        shape.center_offset_ticks,
    )
    return writable(needed.multiplier)
