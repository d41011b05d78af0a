"""The Strategist's arithmetic: shapes by the rules, and the table of candidates they become."""

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt

from agents.lp.advising import decided_by_rule, move_advice
from agents.lp.evaluation import Evaluated, evaluate, gas_usd
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import CreateContext, MarketContext, ScoutContext
from agents.lp.payloads import DebateRound
from agents.lp.plan import OwnRange, ShapeChoice
from agents.numbers.advice import advised_half_width
from agents.numbers.costs import CostedRecipe
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.rounding import significant
from agents.numbers.rules import PROFILES, JudgmentVerdict, judge_move
from agents.numbers.shapes import (
    MAX_CANDIDATES,
    MIN_CANDIDATES,
    REBALANCE_MULTIPLIERS,
    REVISION_MARGIN,
    bounded_multiplier,
    needed_width,
    no_swap_shape,
)
from chain.base.once_per_object import once_per_object
from chain.base.units import PIPS
from chain.math.liquidity import LiquidityError

_CREATE_CANDIDATES = 3
"""How many of the surveyed pools are proposed, of all that are looked at."""
_SPARE_MULTIPLIERS = (2.0, 3.0, 0.85, 3.5, 0.5)
"""Tried in this order when snapping made too few candidates differ."""
_SCANNED = (0.3, 0.45, 0.65, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8, 3.2, 3.5)
SAME_RANGE = ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, same_range=True)
BESIDE = ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, beside=True)
FULL_RANGE = ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, full_range=True)
_REVISION_STEPS = (1.0, 1.3, 1.6)
"""Of the width the floor asked for: enough, and two with room."""


def shapes_by_rules(
    context: ScoutContext, rounds: Sequence[DebateRound]
) -> tuple[ShapeChoice, ...]:
    """What is proposed without a model: first the standing shapes, then what the floors asked."""
    if isinstance(context, CreateContext):
        return tuple(_create_shapes(context, revising=bool(rounds)))
    if context.into:
        return tuple(_shapes_elsewhere(context, revising=bool(rounds)))
    evaluation = evaluation_of(context)
    multipliers = tuple(_needed(evaluation, context)) if rounds else REBALANCE_MULTIPLIERS
    by_edge = tuple(_advised(evaluation)) if not rounds else ()
    shapes = [_shape(multiplier) for multiplier in (*multipliers, *by_edge)]
    if evaluation.hold is not None and not evaluation.in_range:
        # Where one token alone is held it waits beside the price as it is.
        shapes.append(BESIDE)
    if does_not_pay(evaluation):
        shapes.insert(0, FULL_RANGE)
    skewed = no_swap_shape(
        price_tick(evaluation.sqrt_price),
        evaluation.available,
        evaluation.base_half_width,
        evaluation.observed.pool.tick_spacing,
        multipliers[0] if rounds else 1.0,
    )
    if skewed is not None:
        shapes.append(_shape(skewed.width_multiplier, skewed.center_offset_ticks))
    return tuple(shapes)


def _shapes_elsewhere(context: MarketContext, *, revising: bool) -> Iterator[ShapeChoice]:
    """In those pools that net the most at the range that is held, and what is advised there."""
    ranked = []
    for pool_index in range(1, len(context.pools)):
        same = SAME_RANGE.model_copy(update={"pool_index": pool_index})
        evaluation = evaluation_of(context, pool_index)
        ranked.append((_rank(evaluation, same), pool_index, evaluation, same))
    ranked.sort(key=lambda found: found[:2])
    for place, (_, pool_index, evaluation, same) in enumerate(ranked[:_CREATE_CANDIDATES]):
        needed = list(_needed(evaluation, context))[:2]
        widths = needed if revising else [_create_width(evaluation)]
        yield same
        for width in widths if place == 0 else ():
            yield _shape(width).model_copy(update={"pool_index": pool_index})


def own_shapes(context: ScoutContext, own: OwnRange) -> tuple[ShapeChoice, ...]:
    """The range a person named, in every pool that was surveyed."""
    pools = len(context.surveyed_pools) if isinstance(context, CreateContext) else 1
    shapes = [
        ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, pool_index=index, own_range=own)
        for index in range(pools)
    ]
    if not isinstance(context, CreateContext):
        return tuple(shapes)
    ranked = [(_rank(evaluation_of(context, shape.pool_index), shape), shape) for shape in shapes]
    ranked.sort(key=lambda found: found[0])
    return tuple(shape for _, shape in ranked[:_CREATE_CANDIDATES])


def candidates_of(context: ScoutContext, shapes: Iterable[ShapeChoice]) -> tuple[Evaluated, ...]:
    """The distinct moves these shapes make, in order, at least two where two can be made.

    A shape that snaps onto the range held now, or onto one before it, is no further move.
    """
    evaluations: dict[int, EvaluationContext] = {}
    found: list[Evaluated] = []
    taken = set()
    chosen = tuple(shapes)
    given = any(shape.own_range or shape.same_range for shape in chosen)
    spares = () if given else tuple(_spares(context))
    for shape in (*chosen, *spares):
        if len(found) >= MAX_CANDIDATES:
            break
        if shape.pool_index not in evaluations:
            evaluations[shape.pool_index] = evaluation_of(context, shape.pool_index)
        evaluation = evaluations[shape.pool_index]
        if not any(evaluation.available):
            continue
        ticks = evaluation.ticks(shape)
        place = (shape.pool_index, ticks)
        if place in taken or ticks == evaluation.current:
            continue
        if len(found) >= MIN_CANDIDATES and shape not in chosen:
            break
        taken.add(place)
        try:
            found.append(evaluate(evaluation, shape, len(found)))
        except LiquidityError:
            continue  # so much in so narrow a range is more than a pool can hold
    return tuple(found)


@once_per_object
def may_win(context: ScoutContext) -> bool:
    """Whether the rule lets any range win: no model is asked for shapes where none can.

    Widths from the narrowest to the widest are tried around the price, in every pool.
    """
    if decided_by_rule(context):
        return False
    return any(
        _wins(context, evaluation_of(context, pool_index), shape)
        for pool_index in range(context.first_pool, len(context.pools))
        for shape in (*shapes_by_rules(context, ()), *map(_shape, _SCANNED))
        if shape.pool_index in (0, pool_index)
    )


def _wins(context: ScoutContext, evaluation: EvaluationContext, shape: ShapeChoice) -> bool:
    if evaluation.dangers or not any(evaluation.available):
        return False
    try:
        move = evaluate(evaluation, shape, 0)
    except LiquidityError:
        return False
    kept = judge_move(move.numbers, PROFILES[context.profile]).verdict is not JudgmentVerdict.VETO
    return kept and move_advice(context, evaluation, move).permits


def _create_shapes(context: CreateContext, *, revising: bool) -> Iterator[ShapeChoice]:
    """Every surveyed pool is looked at; those that net the most in a week are proposed."""
    looked_at = []
    for pool_index in range(len(context.surveyed_pools)):
        evaluation = evaluation_of(context, pool_index)
        shape = _create_shape(context, _create_width(evaluation), pool_index)
        looked_at.append((_rank(evaluation, shape), pool_index, evaluation))
    looked_at.sort(key=lambda found: found[0])
    for _, pool_index, evaluation in looked_at[:_CREATE_CANDIDATES]:
        needed = list(_needed(evaluation, context))[:2]
        widths = needed if revising else [_create_width(evaluation)]
        if does_not_pay(evaluation):
            yield FULL_RANGE.model_copy(update={"pool_index": pool_index})
        for width in widths:
            yield _create_shape(context, width, pool_index)


def _create_shape(context: CreateContext, width: float, pool_index: int) -> ShapeChoice:
    return ShapeChoice(
        width_multiplier=width,
        center_offset_ticks=0,
        pool_index=pool_index,
        exposure=context.goal.exposure,
    )


def _rank(evaluation: EvaluationContext, shape: ShapeChoice) -> tuple[bool, bool, float]:
    """What would be vetoed for its hook comes last, then what nobody knows, then what nets less.

    Equal ones stay in the order they were surveyed in, the deepest first.
    """
    try:
        net = evaluate(evaluation, shape, 0).candidate.net_7d
    except LiquidityError:
        net = None
    return bool(evaluation.dangers), net is None, 0.0 if net is None else -net


def _create_width(evaluation: EvaluationContext) -> float:
    """The profile's base, or wider where the pool pays so little that entering is dear."""
    return max((1.0, *_advised(evaluation)))


def _advised(evaluation: EvaluationContext) -> Iterator[float]:
    """The width that pays best by the rule, where the pool pays and nothing is in range."""
    edge, sigma = evaluation.market.edge_7d, evaluation.market.daily_sigma
    cost = _cost_share(evaluation)
    if edge is None or edge <= 1 or cost is None or evaluation.in_range:
        return
    # As wide as a move has to be to last as long as the profile likes: life is the width squared.
    least = evaluation.profile_half_width * sqrt(PROFILES[evaluation.profile].liked_room)
    half = advised_half_width(cost, edge, sigma, least * TICK_LOG / sigma)
    yield significant(bounded_multiplier(half / TICK_LOG / evaluation.base_half_width))


def _cost_share(evaluation: EvaluationContext) -> float | None:
    """About what entering costs of what enters: a centred range takes half of each token."""
    unit1 = evaluation.market.unit1_value
    worth = None if unit1 is None else evaluation.worth1(evaluation.available) * unit1
    opening = evaluation.current is None
    recipe = CostedRecipe.SWAP_AND_ENTER if opening else CostedRecipe.RERANGE_WITH_SWAP
    gas = gas_usd(evaluation, recipe)
    if not worth or gas is None:
        return None
    return gas / worth + evaluation.observed.pool.lp_fee / PIPS / 2


def does_not_pay(evaluation: EvaluationContext) -> bool:
    """Then the full range is proposed first, for it exposes the least, and staying out beside it.

    Of $10,000 in two real pools it lost 3.5 [1.7, 5.3] and 9.9 [2.7, 20] dollars a week less than
    what was advised before: less exposure, no profit.
    """
    edge = evaluation.market.edge_7d
    return edge is not None and edge < 1


def _needed(evaluation: EvaluationContext, context: ScoutContext) -> Iterator[float]:
    """The widths that meet the profile's floor, from just enough on."""
    needed = needed_width(
        PROFILES[context.profile].buffer_floor_hours,
        evaluation.ticks_a_day,
        evaluation.base_half_width,
        evaluation.observed.pool.tick_spacing,
    )
    for step in _REVISION_STEPS:
        yield bounded_multiplier(needed.multiplier * REVISION_MARGIN * step)


def _spares(context: ScoutContext) -> Iterator[ShapeChoice]:
    exposure = context.goal.exposure if isinstance(context, CreateContext) else None
    for multiplier in _SPARE_MULTIPLIERS:
        shape = _shape(multiplier)
        yield shape if exposure is None else shape.model_copy(update={"exposure": exposure})


def _shape(multiplier: float, offset: int = 0) -> ShapeChoice:
    return ShapeChoice(width_multiplier=significant(multiplier), center_offset_ticks=offset)
