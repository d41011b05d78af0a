"""What a model is told: facts with an id behind every number, tokens by alias, no chain text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from agents.lp.advising import standing_advice
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import CreateContext, DeskMemory, MarketContext, ObservedPool
from agents.lp.option_letters import option_letter
from agents.lp.payloads import STRATEGIST, Debate, DebateRound, Objection
from agents.lp.settled import settled
from agents.lp.situation import (
    describe_capital,
    describe_depth,
    describe_memory,
    describe_offsets,
    describe_position,
    describe_way,
)
from agents.model.brief import Brief
from agents.model.numerals import Unit
from agents.numbers.advice import COST_MULTIPLE, ENTER_OVER, LEAVE_UNDER, AdvisedAction
from agents.numbers.profiles import PROFILES, Tiebreak
from agents.numbers.regime import daily_sigma
from agents.numbers.rules import Rule
from agents.numbers.shapes import (
    MAX_CENTER_OFFSET_TICKS,
    MAX_WIDTH_MULTIPLIER,
    MIN_WIDTH_MULTIPLIER,
)
from chain.base.units import GWEI

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from agents.bus.worker import HandlerContext
    from agents.lp.plan import Candidate, RuleFinding
    from agents.lp.services import DebateServices
    from agents.model.interface import Model

    Context = MarketContext | CreateContext

AXES = {
    Tiebreak.STRESSED_BUFFER: "the largest buffer at twice the volatility",
    Tiebreak.BUFFER_AND_YIELD: "the largest buffer times fees, a buffer beyond twice the floor "
    "counting no more",
    Tiebreak.YIELD: "the highest fees",
}
_UNITS = {
    Rule.BUFFER_FLOOR: Unit.HOURS,
    Rule.GAS_YIELD: Unit.MULTIPLIER,
    Rule.BREAK_EVEN: Unit.HOURS,
    Rule.OWN_SWAP: Unit.FRACTION,
    Rule.REPLAY: Unit.USD,
}


def briefed(
    context: HandlerContext[DebateServices],
    facts: Context,
    memory: DeskMemory,
    debate: Debate | None = None,
) -> Brief:
    """What the agent's model is told; nothing is written where there is none to read it."""
    if asked_model(context, facts) is None:
        return Brief("")
    brief = Brief(_system(context.role))
    describe_market(brief, facts)
    describe_memory(brief, facts, memory)
    if context.role == STRATEGIST:
        describe_bounds(brief, facts)
    if debate is not None:
        describe_table(brief, debate)
        describe_speeches(brief, debate)
    return brief


def asked_model(context: HandlerContext[DebateServices], facts: Context) -> Model | None:
    """Who is asked: nobody where the rule has decided before anybody could argue."""
    return None if settled(facts) is not None else context.services.model


def describe_market(brief: Brief, context: Context) -> None:
    """The facts everybody may argue from."""
    rules = PROFILES[context.profile]
    brief.say(
        f"Risk profile {context.profile.value}: buffer floor "
        f"{brief.number(rules.buffer_floor_hours, Unit.HOURS)}, gas over a day's fees at most "
        f"{brief.number(rules.gas_yield_ceiling, Unit.MULTIPLIER)}, break-even within "
        f"{brief.number(rules.break_even_life_share, Unit.MULTIPLIER)} of the median life; "
        f"the axis between candidates is {AXES[rules.tiebreak]}."
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


def describe_bounds(brief: Brief, context: Context) -> None:
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
        f"{brief.number(candidate.fee_yield_24h, Unit.USD)}, LVR a day "
        f"{brief.number(candidate.lvr_24h, Unit.USD)}, cost "
        f"{brief.number(candidate.cost_usd, Unit.USD)}, {swap}, break-even "
        f"{brief.number(candidate.break_even_hours, Unit.HOURS)}; nets "
        f"{brief.number(candidate.net_7d, Unit.USD)} in a week{_against(brief, candidate, debate)}."
    )
    judgment = candidate.judgment
    if judgment is not None:
        harder = "" if judgment.verdict is judgment.by_rules else ", harder than the rules"
        brief.say(f"  judged {judgment.verdict.value}{harder}")


def describe_speeches(brief: Brief, debate: Debate) -> None:
    """What everybody said, by round, as data; last, so that every number has its id by then."""
    brief.say("What was said, between « and »:")
    brief.say(f"  Scout: {brief.quote(debate.context.summary)}")
    for one in debate.rounds:
        said = f"in round {one.number}"
        brief.say(f"  Strategist {said}: {brief.quote(one.rationale)}")
        for answer in one.answers:
            brief.say(f"  Strategist {said}, to point {answer.point}: {brief.quote(answer.words)}")
        if one.decision is None:
            continue
        brief.say(f"  Critic {said}: {brief.quote(one.critique)}")
        for remark in one.remarks:
            about = f"of candidate {option_letter(remark.candidate)}"
            brief.say(f"  Critic {said}, {about}: {brief.quote(remark.words)}")


def describe_table(brief: Brief, debate: Debate) -> None:
    describe_candidate(brief, "HOLD", debate.hold, debate)
    if debate.exit is not None:
        describe_candidate(brief, "EXIT", debate.exit, debate)
    describe_standing(brief, debate.context)
    for one in debate.rounds:
        describe_round(brief, one, debate)


def describe_standing(brief: Brief, context: Context) -> None:
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


def describe_round(brief: Brief, one: DebateRound, debate: Debate) -> None:
    decided = "not judged yet" if one.decision is None else f"decided {one.decision.value}"
    brief.say(f"Round {one.number}, proposed by the {one.proposed_by}, {decided}:")
    for index, candidate in enumerate(one.candidates):
        name = f"Candidate {option_letter(index)}, index {index}"
        describe_candidate(brief, name, candidate, debate)
    for objection in one.objections:
        _objection(brief, objection, one)


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


def _objection(brief: Brief, objection: Objection, one: DebateRound) -> None:
    """A point by its rule and numbers; what a model said of it is quoted with all speeches."""
    found = [
        finding
        for candidate in one.candidates
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
def _system(role: Role) -> str:
    return files("agents.lp.prompts").joinpath(f"{role}.txt").read_text("utf-8")
