"""What a model is told, with an id behind every number, and what it may answer."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Literal, NamedTuple

from pydantic import Field

from agents.bus.worker import HandlerContext
from agents.lp.advice_words import option_letter
from agents.lp.advising import advice_without_debate, hours_since_action, standing_advice
from agents.lp.evaluation import hold_candidate
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import (
    AdviceRecord,
    CreateContext,
    DeskMemory,
    MarketContext,
    ObservedPool,
    PricePathFacts,
    ScoutContext,
    path_steps,
)
from agents.lp.judge import recompute, replay_opinion, walked_paths
from agents.lp.payloads import CRITIC, SCOUT, STRATEGIST, Debate, DebateRound, Objection
from agents.lp.plan import Candidate, RuleFinding
from agents.lp.propose import may_win
from agents.lp.services import DebateServices
from agents.lp.statements import OptionTable, false_words, option_names, option_table
from agents.model.claims import Unit
from agents.model.interface import Model
from agents.model.reply_text import StructuredReply
from agents.model.speaking import Brief
from agents.numbers.advice import COST_MULTIPLE, ENTER_OVER, LEAVE_UNDER, AdvisedAction, edge_ratio
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.outlook import PathStep
from agents.numbers.regime import daily_sigma
from agents.numbers.rules import NET_TIE_USD, PROFILES, Rule, Tiebreak
from agents.numbers.shapes import (
    MAX_CANDIDATES,
    MAX_CENTER_OFFSET_TICKS,
    MAX_SURVEYED_POOLS,
    MAX_WIDTH_MULTIPLIER,
    MIN_CANDIDATES,
    MIN_WIDTH_MULTIPLIER,
    no_swap_shape,
)
from chain.base.units import GWEI
from chain.contracts.hooks import hook_passport
from chain.math.ticks import sqrt_price_at_tick

_DAY = 86_400
_HOUR = 3_600
_ROOT_ONE = 1 << 96


class PriceMoves(NamedTuple):
    """By which part TOKEN0's price in TOKEN1 rose, or fell below nothing; None is unknown."""

    day: float | None
    week: float | None


class RangeLeft(NamedTuple):
    """When the price was last inside a range."""

    hours: float
    """Ago; at least so many where it was never seen inside."""
    seen_inside: bool


def price_moves(observed: ObservedPool) -> PriceMoves:
    return PriceMoves(_moved(observed, observed.day_path), _moved(observed, observed.week_path))


def daily_edges(observed: ObservedPool) -> tuple[float, ...]:
    """What the pool paid over what arbitrage took, day by day, the oldest first."""
    if observed.week_path is None:
        return ()
    steps = path_steps(observed.week_path, observed.pool.sqrt_price_x96)
    days: dict[int, list[PathStep]] = {}
    for step in steps:
        days.setdefault(step.age // _DAY, []).append(step)
    edges = (_edge(days[age]) for age in sorted(days, reverse=True))
    return tuple(edge for edge in edges if edge is not None)


def range_left(context: MarketContext) -> RangeLeft | None:
    """When the price left the range that is held; None where it is inside, or nobody knows."""
    position, observed = context.position, context.observed
    if position.tick_lower <= observed.pool.tick < position.tick_upper:
        return None
    low, high = (
        sqrt_price_at_tick(tick) / _ROOT_ONE for tick in (position.tick_lower, position.tick_upper)
    )
    seen_for = None
    for path in (observed.day_path, observed.week_path):
        steps = () if path is None else path_steps(path, observed.pool.sqrt_price_x96)
        for step in reversed(steps):
            if step.high >= low and step.low <= high:
                return RangeLeft(step.age / _HOUR, seen_inside=True)
        seen_for = max(seen_for or 0.0, steps[0].age / _HOUR) if steps else seen_for
    return None if seen_for is None else RangeLeft(seen_for, seen_inside=False)


def _moved(observed: ObservedPool, path: PricePathFacts | None) -> float | None:
    if path is None:
        return None
    steps = path_steps(path, observed.pool.sqrt_price_x96)
    now = observed.pool.sqrt_price_x96 / _ROOT_ONE
    return (now / steps[0].opening) ** 2 - 1 if steps else None


def _edge(steps: Sequence[PathStep]) -> float | None:
    squares = sum((2 * log(step.close / step.opening)) ** 2 for step in steps)
    return edge_ratio(sum(step.fee_rate for step in steps), squares)


_PRICE_DIGITS = 5
_SECONDS_PER_HOUR = 3_600
_BEATEN = {
    "move": ("moves", "holding"),
    "hold": ("holds", "leaving"),
    "exit": ("exits", "holding"),
    "create": ("new positions", "keeping the tokens"),
    "keep": ("plans to keep the tokens", "a wide range"),
}


def describe_position(brief: Brief, context: MarketContext) -> None:
    """Price and range, which side was left and when, what is held, and what was done before."""
    evaluation, position = evaluation_of(context), context.position
    pool = context.observed.pool
    price = price_tick(evaluation.sqrt_price)
    below = 1 - exp((position.tick_lower - price) * TICK_LOG)
    above = exp((position.tick_upper - price) * TICK_LOG) - 1
    if not position.liquidity:
        brief.say("The position is empty.")
    elif evaluation.in_range:
        brief.say(
            f"The price is inside the range that is held, whose lower edge is "
            f"{brief.number(below, Unit.FRACTION)} below it and whose upper edge "
            f"{brief.number(above, Unit.FRACTION)} above it."
        )
    elif pool.tick >= position.tick_upper:
        brief.say(
            f"The price left the range that is held upwards and is past its upper edge by "
            f"{brief.number(-above, Unit.FRACTION)}, so all of it is TOKEN1{_left(brief, context)}."
        )
    else:
        brief.say(
            f"The price left the range that is held downwards and is past its lower edge by "
            f"{brief.number(-below, Unit.FRACTION)}, so all of it is TOKEN0{_left(brief, context)}."
        )
    _worth(brief, context, evaluation)
    since = hours_since_action(context)
    if since is None:
        brief.say("This desk has not acted on it yet.")
    else:
        brief.say(f"This desk made or moved it {brief.number(since, Unit.HOURS)} ago.")
    if context.keep is not None:
        first = context.keep.token == pool.currency0
        brief.say(f"The person wants to keep {'TOKEN0' if first else 'TOKEN1'}.")
        if context.keep.until is not None:
            left = max(0, context.keep.until - context.time) / _SECONDS_PER_HOUR
            brief.say(f"It is needed in {brief.number(left, Unit.HOURS)}.")


def describe_capital(brief: Brief, context: CreateContext) -> None:
    """What could be put into a pool."""
    evaluation = evaluation_of(context)
    unit1 = evaluation.market.unit1_value
    worth = None if unit1 is None else evaluation.worth1(evaluation.available) * unit1
    brief.say(f"The capital is worth {brief.number(worth, Unit.USD)}.")


def describe_way(brief: Brief, observed: ObservedPool) -> None:
    """Where the price stands and came from, and what the pool paid for it day by day."""
    decimals0, decimals1 = observed.token0.decimals, observed.token1.decimals
    if decimals0 is not None and decimals1 is not None:
        price = (observed.pool.sqrt_price_x96 / (1 << 96)) ** 2 * 10.0 ** (decimals0 - decimals1)
        quote = brief.ledger.cite(price, Unit.PRICE, digits=_PRICE_DIGITS)
        brief.say(f"A TOKEN0 costs {quote} TOKEN1.")
    moves = price_moves(observed)
    if moves.day is None and moves.week is None:
        brief.say("How its price changed of late is unknown.")
    else:
        brief.say(
            f"Its price changed by {brief.number(moves.day, Unit.FRACTION)} in the last day and "
            f"by {brief.number(moves.week, Unit.FRACTION)} in the last week."
        )
    edges = daily_edges(observed)
    if edges:
        told = ", ".join(brief.number(edge, Unit.MULTIPLIER) for edge in edges)
        brief.say(f"What the pool paid over its risk, day by day, the oldest first: {told}.")


def describe_depth(brief: Brief, evaluation: EvaluationContext) -> None:
    """How much liquidity works around the price."""
    brief.say(
        "The liquidity around the price works like "
        f"{brief.number(evaluation.market.active_worth, Unit.USD)} over the full range."
    )


def describe_offsets(brief: Brief, evaluation: EvaluationContext) -> None:
    """What the offset of a centre means for what is held."""
    brief.say(
        "A range above the price takes TOKEN0 alone, one below it TOKEN1 alone; a positive "
        "offset moves the range to where TOKEN0 is dearer."
    )
    shape = no_swap_shape(
        price_tick(evaluation.sqrt_price),
        evaluation.available,
        evaluation.base_half_width,
        evaluation.observed.pool.tick_spacing,
    )
    if shape is not None:
        brief.say(
            f"At a width of {brief.number(shape.width_multiplier, Unit.MULTIPLIER)} no swap is "
            f"needed with the centre off by {brief.number(shape.center_offset_ticks, Unit.TICKS)}."
        )


def describe_memory(brief: Brief, context: ScoutContext, memory: DeskMemory) -> None:
    """What this desk advised before, and what became of its earlier plans of each kind."""
    for advice in memory.earlier_advice:
        ago = max(0, context.time - advice.time) / _SECONDS_PER_HOUR
        done = "carried out" if advice.carried_out else "not carried out"
        brief.say(f"Advised {brief.number(ago, Unit.HOURS)} ago: {advice.choice}, {done}.")
    for record in memory.advice_records:
        brief.say(describe_record(brief, record))
    if memory.headlines:
        brief.say("What feeds wrote of late that names a token of the pool; nobody checked it:")
    for headline in memory.headlines:
        brief.say(f"  {brief.quote_stranger(headline)}")
    if memory.hook_code:
        brief.say("Parts of the source of the pool's hook, with its numbers struck:")
    for part in memory.hook_code:
        brief.say(f"  {brief.quote_stranger(part)}")


def _left(brief: Brief, context: MarketContext) -> str:
    left = range_left(context)
    if left is None:
        return "; when it left is unknown"
    ago = brief.number(left.hours, Unit.HOURS)
    return f"; it left {ago} ago" if left.seen_inside else f"; it has been out for over {ago}"


def _worth(brief: Brief, context: MarketContext, evaluation: EvaluationContext) -> None:
    position, pool = context.position, context.observed.pool
    total = evaluation.worth1(evaluation.available)
    if total:
        share1 = evaluation.available.amount1 / total
        brief.say(
            f"Of what is held, fees included, {brief.number(1 - share1, Unit.FRACTION)} of the "
            f"worth is TOKEN0 and {brief.number(share1, Unit.FRACTION)} TOKEN1; without the fees "
            f"it is worth {brief.number(hold_candidate(context).value_usd, Unit.USD)}."
        )
    if evaluation.in_range and pool.liquidity:
        share = position.liquidity / pool.liquidity
        brief.say(f"It is {brief.number(share, Unit.FRACTION)} of the pool's active liquidity.")


def describe_record(brief: Brief, record: AdviceRecord) -> str:
    many, against = _BEATEN[record.kind]
    return (
        f"Of {brief.number(record.judged, Unit.COUNT)} earlier {many} of this desk "
        f"{brief.number(record.beat, Unit.COUNT)} beat {against} after "
        f"{brief.number(24 * record.days, Unit.HOURS)}."
    )


ALONE = "alone"
"""Who is told everything and decides without the others, where a debate is compared with that."""
AXES = {
    Tiebreak.STRESSED_BUFFER: "the largest buffer at twice the volatility",
    Tiebreak.BUFFER_AND_YIELD: "the largest buffer × fees (buffer capped at twice the floor)",
    Tiebreak.YIELD: "the highest fees",
}
_UNITS = {
    Rule.BUFFER_FLOOR: Unit.HOURS,
    Rule.GAS_YIELD: Unit.MULTIPLIER,
    Rule.BREAK_EVEN: Unit.HOURS,
    Rule.OWN_SWAP: Unit.FRACTION,
    Rule.REPLAY: Unit.USD,
    Rule.GOAL: Unit.FRACTION,
}


def brief_agent(
    context: HandlerContext[DebateServices],
    facts: ScoutContext,
    memory: DeskMemory,
    debate: Debate | None = None,
) -> Brief:
    """What the agent's model is told; nothing is written where there is none to read it."""
    if asked_model(context, facts) is None:
        return Brief("")
    return brief_of(context.role, facts, memory, debate)


def brief_of(
    role: str, facts: ScoutContext, memory: DeskMemory, debate: Debate | None = None
) -> Brief:
    """What a role is told of these facts, and of what was said so far."""
    brief = Brief(_system(role))
    describe_market(brief, facts)
    describe_memory(brief, facts, memory)
    if role in (STRATEGIST, ALONE):
        describe_bounds(brief, facts)
    if debate is not None:
        table = debate_table(debate)
        brief.false_words = lambda prose: false_words(prose, table)
        describe_table(brief, debate)
        if role in (CRITIC, ALONE):
            describe_replays(brief, debate)
        describe_speeches(brief, debate)
    return brief


def debate_table(debate: Debate) -> OptionTable:
    """What is on the table in the last round."""
    moves = debate.rounds[-1].candidates if debate.rounds else ()
    context = debate.context
    pools = context.pools
    return option_table(
        option_names(debate.hold, moves, debate.exit),
        {each.pool.pool_id: each.pool.tick for each in pools},
        {each.pool.pool_id: each.market.edge_7d for each in pools},
    )


def asked_model(context: HandlerContext[DebateServices], facts: ScoutContext) -> Model | None:
    """Who is asked: nobody where the rule decides alone, and Scout alone where no range can win."""
    model = context.services.model
    if model is None or advice_without_debate(facts) is not None:
        return None
    return model if context.role == SCOUT or may_win(facts) else None


def describe_market(brief: Brief, context: ScoutContext) -> None:
    """The facts everybody may argue from."""
    rules = PROFILES[context.profile]
    brief.say(
        f"Risk profile {context.profile.value}: buffer floor "
        f"{brief.number(rules.buffer_floor_hours, Unit.HOURS)}, gas over a day's fees at most "
        f"{brief.number(rules.gas_yield_ceiling, Unit.MULTIPLIER)}, break-even within "
        f"{brief.number(rules.break_even_life_share, Unit.MULTIPLIER)} of the median life; "
        "of what keeps the floors the highest net of a week wins, and between nets within "
        f"{brief.number(NET_TIE_USD, Unit.USD)} {AXES[rules.tiebreak]}."
    )
    brief.say(f"Gas {brief.number(context.gas.wei_per_gas / GWEI, Unit.GWEI)}.")
    if isinstance(context, CreateContext):
        brief.say(f"The person wants exposure {context.goal.exposure.value}.")
        describe_capital(brief, context)
        for index, observed in enumerate(context.surveyed_pools):
            evaluation = evaluation_of(context, index)
            own = "TOKEN0" if evaluation.capital_is_currency0 else "TOKEN1"
            brief.say(f"Pool {index}, where the person's own token is {own}:")
            _pool(brief, observed)
            describe_way(brief, observed)
            describe_depth(brief, evaluation)
            _base(brief, evaluation.base_half_width)
    else:
        evaluation = evaluation_of(context)
        _pool(brief, context.observed)
        describe_way(brief, context.observed)
        describe_depth(brief, evaluation)
        describe_position(brief, context)
        _base(brief, evaluation.base_half_width)
        for index, observed in enumerate(context.into, context.first_pool):
            elsewhere = evaluation_of(context, index)
            own = "TOKEN0" if elsewhere.capital_is_currency0 else "TOKEN1"
            brief.say(
                f"Pool {index}, of another protocol, which it is to go into; what it holds there "
                f"is {own}:"
            )
            _pool(brief, observed)
            describe_way(brief, observed)
            describe_depth(brief, elsewhere)
            _base(brief, elsewhere.base_half_width)


def describe_bounds(brief: Brief, context: ScoutContext) -> None:
    brief.say(
        f"A shape's widthMultiplier is {brief.number(MIN_WIDTH_MULTIPLIER, Unit.MULTIPLIER)} to "
        f"{brief.number(MAX_WIDTH_MULTIPLIER, Unit.MULTIPLIER)}, its centerOffsetTicks "
        f"{brief.number(-MAX_CENTER_OFFSET_TICKS, Unit.TICKS)} to "
        f"{brief.number(MAX_CENTER_OFFSET_TICKS, Unit.TICKS)}."
    )
    describe_offsets(brief, evaluation_of(context))


def describe_candidate(brief: Brief, name: str, candidate: Candidate, debate: Debate) -> None:
    if candidate.buffer_hours is None or candidate.survival is None:
        brief.say(
            f"{name}: in the wallet, cost {brief.number(candidate.cost_usd, Unit.USD)}, "
            "no fees, no LVR."
        )
        return
    shape = candidate.shape
    form = (
        ""
        if shape is None
        else (
            f" pool {shape.pool_index}, width "
            f"{brief.number(shape.width_multiplier, Unit.MULTIPLIER)}, centre off by "
            f"{brief.number(shape.center_offset_ticks, Unit.TICKS)};"
        )
    )
    swap = "no swap" if candidate.prep_action is None else "needs a swap"
    brief.say(
        f"{name} ({candidate.kind}):{form} buffer at once the volatility "
        f"{brief.number(candidate.buffer_hours.at_1x, Unit.HOURS)}, at twice "
        f"{brief.number(candidate.buffer_hours.at_2x, Unit.HOURS)}, at three times "
        f"{brief.number(candidate.buffer_hours.at_3x, Unit.HOURS)}; stays a day with "
        f"{brief.number(candidate.survival.day, Unit.FRACTION)}, a week with "
        f"{brief.number(candidate.survival.week, Unit.FRACTION)}; fees a day "
        f"{brief.number(candidate.fee_yield_24h, Unit.USD)}, eight days in ten between "
        f"{brief.number(candidate.fee_low_24h, Unit.USD)} and "
        f"{brief.number(candidate.fee_high_24h, Unit.USD)}, LVR a day "
        f"{brief.number(candidate.lvr_24h, Unit.USD)}, cost "
        f"{brief.number(candidate.cost_usd, Unit.USD)}, {swap}, break-even "
        f"{_break_even(brief, candidate)}; nets "
        f"{brief.number(candidate.net_7d, Unit.USD)} in a week{_against(brief, candidate, debate)}."
    )
    judgment = candidate.judgment
    if judgment is not None:
        harder = "" if judgment.verdict is judgment.by_rules else ", harder than the rules"
        brief.say(f"  judged {judgment.verdict.value}{harder}")


def _break_even(brief: Brief, candidate: Candidate) -> str:
    """Never is not unknown."""
    if not candidate.breaks_even:
        return "never"
    return brief.number(candidate.break_even_hours, Unit.HOURS)


def describe_replays(brief: Brief, debate: Debate) -> None:
    """What the candidates would have earned in the swaps that were: the Critic's second method."""
    for move in recompute(debate):
        shape = move.candidate.shape
        evaluation = evaluation_of(debate.context, 0 if shape is None else shape.pool_index)
        replay = replay_opinion(evaluation, move, walked_paths(evaluation))
        for span, found in (("day", replay.day), ("week", replay.week)):
            if found is not None:
                letter = option_letter(move.candidate.index or 0)
                brief.say(
                    f"Candidate {letter}, taken along the last {span}'s swaps: fees "
                    f"{brief.number(found.fees_usd, Unit.USD)}, LVR "
                    f"{brief.number(found.lvr_usd, Unit.USD)}, "
                    f"{brief.number(found.in_range_share, Unit.FRACTION)} of the way inside."
                )


def describe_speeches(brief: Brief, debate: Debate) -> None:
    """What everybody said, by round, as data; last, so that every number has its id by then."""
    brief.say("What was said, between « and »:")
    brief.say(f"  Scout: {brief.quote(debate.context.summary)}")
    for turn in debate.rounds:
        said = f"in round {turn.number}"
        brief.say(f"  Strategist {said}: {brief.quote(turn.rationale)}")
        for answer in turn.answers:
            brief.say(f"  Strategist {said}, to point {answer.point}: {brief.quote(answer.words)}")
        if turn.decision is None:
            continue
        brief.say(f"  Critic {said}: {brief.quote(turn.critique)}")
        for remark in turn.remarks:
            about = f"of candidate {option_letter(remark.candidate)}"
            brief.say(f"  Critic {said}, {about}: {brief.quote(remark.words)}")


def describe_table(brief: Brief, debate: Debate) -> None:
    describe_candidate(brief, "HOLD", debate.hold, debate)
    if debate.exit is not None:
        describe_candidate(brief, "EXIT", debate.exit, debate)
    describe_standing(brief, debate.context)
    for turn in debate.rounds:
        describe_round(brief, turn, debate)


def describe_standing(brief: Brief, context: ScoutContext) -> None:
    """What the rule says before any move is judged, and from where on it would say otherwise."""
    advice = standing_advice(context, evaluation_of(context))
    stands = "leave" if advice.action is AdvisedAction.EXIT else "stay"
    brief.say(
        f"Before any move the rule says {stands} ({advice.reasons[0].value.replace('_', ' ')}): a "
        f"pool in range is left under {brief.number(LEAVE_UNDER, Unit.MULTIPLIER)} its risk, one "
        f"out of range entered over {brief.number(ENTER_OVER, Unit.MULTIPLIER)}; what is in range "
        f"and paid is never moved for yield; a move gains more than "
        f"{brief.number(COST_MULTIPLE, Unit.MULTIPLIER)} its cost over HOLD."
    )


def describe_round(brief: Brief, debate_round: DebateRound, debate: Debate) -> None:
    decided = (
        "not judged yet"
        if debate_round.decision is None
        else f"decided {debate_round.decision.value}"
    )
    brief.say(
        f"Round {debate_round.number}, proposed by the {debate_round.proposed_by}, {decided}:"
    )
    for index, candidate in enumerate(debate_round.candidates):
        name = f"Candidate {option_letter(index)}, index {index}"
        describe_candidate(brief, name, candidate, debate)
    for objection in debate_round.objections:
        _objection(brief, objection, debate_round)


def _against(brief: Brief, candidate: Candidate, debate: Debate) -> str:
    """A move's week beside those of HOLD and EXIT."""
    told = []
    for name, other in (("HOLD", debate.hold), ("EXIT", debate.exit)):
        if candidate.index is None or other is None or other.net_7d is None:
            continue
        if candidate.net_7d is not None:
            more = brief.number(candidate.net_7d - other.net_7d, Unit.USD)
            told.append(f", {more} against {name}")
    return "".join(told)


def _pool(brief: Brief, observed: ObservedPool) -> None:
    market, pool = observed.market, observed.pool
    brief.say(
        f"TOKEN0 is {_kind(observed.token0.kind)}, TOKEN1 is {_kind(observed.token1.kind)}; "
        f"fee {brief.number(pool.lp_fee / 1_000_000, Unit.FRACTION)}; "
        f"hook danger {pool.hook_danger}."
    )
    # By its address alone, in words of ours: what a pool's facts say of it may be anybody's.
    passport = hook_passport(pool.hooks, pool.fee)
    if passport.present:
        brief.say(f"By its address the hook may do this: {' '.join(passport.sentences)}")
    brief.say(
        f"Regime {observed.regime.value}. Volatility a day "
        f"{brief.number(market.sigma, Unit.FRACTION)}"
        f"{' (assumed)' if market.sigma_assumed else ''}, over the last day "
        f"{brief.number(market.sigma_24h, Unit.FRACTION)}, over the week "
        f"{brief.number(market.sigma_7d, Unit.FRACTION)}; over the week the pool paid "
        f"{brief.number(market.edge_7d, Unit.MULTIPLIER)} its risk; path efficiency "
        f"{brief.number(market.path_efficiency, Unit.FRACTION)}; pool fees of the last day "
        f"{brief.number(market.fees_24h_usd, Unit.USD)}."
    )


def _base(brief: Brief, half_width: float) -> None:
    brief.say(
        f"Base half-width {brief.number(round(half_width), Unit.TICKS)}, about "
        f"{brief.number(daily_sigma(half_width), Unit.FRACTION)} of the price."
    )


def _objection(brief: Brief, objection: Objection, debate_round: DebateRound) -> None:
    """A point by its rule and numbers; what a model said of it is quoted with all speeches."""
    found = [
        finding
        for candidate in debate_round.candidates
        if candidate.index == objection.candidate and candidate.judgment is not None
        for finding in candidate.judgment.findings
        if finding.words == objection.words
    ]
    about = _finding(brief, found[0]) if found else "the Critic's own judgment"
    needed = (
        ""
        if objection.needed_multiplier is None
        else f"; a width of {brief.number(objection.needed_multiplier, Unit.MULTIPLIER)}"
        " would meet the floor"
    )
    letter = option_letter(objection.candidate)
    brief.say(f"  Point {objection.point}, candidate {letter}: {about}{needed}.")


def _finding(brief: Brief, finding: RuleFinding) -> str:
    rule = finding.rule.value.replace("-", " ")
    if finding.limit is None:
        return rule
    unit = _UNITS[finding.rule]
    value = "unknown or never" if finding.value is None else brief.number(finding.value, unit)
    return f"{rule}, {value} against {brief.number(finding.limit, unit)}"


def _kind(kind: str) -> str:
    return {"dollar": "a dollar token", "ether": "ether", "bitcoin": "bitcoin"}.get(
        kind, "another token"
    )


@cache
def _system(role: str) -> str:
    return files("agents.lp.prompts").joinpath(f"{role}.txt").read_text("utf-8")


_PROSE = 1_200
_SENTENCE = 400


class ScoutReply(StructuredReply):
    summary: str = Field(min_length=20, max_length=_PROSE)


class ProposedShape(StructuredReply):
    width_multiplier: float = Field(ge=MIN_WIDTH_MULTIPLIER, le=MAX_WIDTH_MULTIPLIER)
    center_offset_ticks: int = Field(ge=-MAX_CENTER_OFFSET_TICKS, le=MAX_CENTER_OFFSET_TICKS)
    pool_index: int = Field(default=0, ge=0, lt=MAX_SURVEYED_POOLS)
    exposure: Literal["neutral", "long-token"] = "neutral"


class PointAnswer(StructuredReply):
    point: int = Field(ge=1, le=100)
    words: str = Field(min_length=1, max_length=_SENTENCE)


class StrategistReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    answers: list[PointAnswer] = Field(default=[], max_length=40)
    shapes: list[ProposedShape] = Field(min_length=MIN_CANDIDATES, max_length=MAX_CANDIDATES)


class CandidateOpinion(StructuredReply):
    index: int = Field(ge=0, lt=MAX_CANDIDATES)
    verdict: Literal["accept", "revise", "veto"]
    reason: str = Field(min_length=1, max_length=_SENTENCE)


class CriticReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    judgments: list[CandidateOpinion] = Field(min_length=1, max_length=MAX_CANDIDATES)


class AloneReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    choice: Literal["hold", "exit", "move"]
    width_multiplier: float = Field(default=1.0, ge=MIN_WIDTH_MULTIPLIER, le=MAX_WIDTH_MULTIPLIER)
    center_offset_ticks: int = Field(
        default=0, ge=-MAX_CENTER_OFFSET_TICKS, le=MAX_CENTER_OFFSET_TICKS
    )
    pool_index: int = Field(default=0, ge=0, lt=MAX_SURVEYED_POOLS)
    stays_day: float = Field(ge=0, le=1)


class ArbiterReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    chosen_index: int = Field(ge=0, lt=MAX_CANDIDATES)
