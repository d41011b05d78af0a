"""What an adviser needs to know before any range is spoken of, written into a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.advising import hours_since_action
from agents.lp.evaluation import hold_candidate
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.path_steps import path_steps
from agents.model.numerals import Unit
from agents.numbers.advice import edge_ratio
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.shapes import no_swap_shape
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.lp.facts import (
        AdviceRecord,
        CreateContext,
        DeskMemory,
        MarketContext,
        ObservedPool,
        PricePathFacts,
    )
    from agents.model.brief import Brief
    from agents.numbers.range_replay import PathStep

    Context = MarketContext | CreateContext

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
    _past(brief, context)


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


def describe_memory(brief: Brief, context: Context, memory: DeskMemory) -> None:
    """What this desk advised before, and what became of its earlier plans of each kind."""
    for advice in memory.earlier_advice:
        ago = max(0, context.time - advice.time) / _SECONDS_PER_HOUR
        done = "carried out" if advice.carried_out else "not carried out"
        brief.say(f"Advised {brief.number(ago, Unit.HOURS)} ago: {advice.choice}, {done}.")
    for record in memory.advice_records:
        brief.say(_record(brief, record))


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
        share1 = (position.amount1 + position.fees1) / total
        brief.say(
            f"Of what is held, fees included, {brief.number(1 - share1, Unit.FRACTION)} of the "
            f"worth is TOKEN0 and {brief.number(share1, Unit.FRACTION)} TOKEN1; without the fees "
            f"it is worth {brief.number(hold_candidate(context).value_usd, Unit.USD)}."
        )
    if evaluation.in_range and pool.liquidity:
        share = position.liquidity / pool.liquidity
        brief.say(f"It is {brief.number(share, Unit.FRACTION)} of the pool's active liquidity.")


def _past(brief: Brief, context: MarketContext) -> None:
    since = hours_since_action(context)
    if since is None:
        brief.say("This desk has not acted on it yet.")
    else:
        brief.say(f"This desk made or moved it {brief.number(since, Unit.HOURS)} ago.")


def _record(brief: Brief, record: AdviceRecord) -> str:
    many, against = _BEATEN[record.kind]
    return (
        f"Of {brief.number(record.judged, Unit.COUNT)} earlier {many} of this desk "
        f"{brief.number(record.beat, Unit.COUNT)} beat {against} after "
        f"{brief.number(24 * record.days, Unit.HOURS)}."
    )
