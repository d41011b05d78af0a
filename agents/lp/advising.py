"""The rule of `agents.numbers.advice`, asked about a position or capital and about each move."""

from functools import lru_cache
from typing import NamedTuple

from agents.lp.evaluation import Evaluated, changed_market, exit_cost, move_numbers
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import CreateContext, MarketContext, ScoutContext
from agents.numbers.advice import (
    Advice,
    AdviceInputs,
    AdviceReason,
    AdvisedAction,
    AdvisedMove,
    advise,
)
from agents.numbers.edges import TICK_LOG, TickRange, edges_of
from agents.numbers.fees import position_value
from agents.numbers.outlook import HOURS_PER_WEEK, PoolMarket, horizon_hours, net_over, week_again
from agents.numbers.regime import daily_ticks
from agents.numbers.rounding import gain_over
from agents.numbers.rules import AS_OBSERVED, PROFILES, JudgmentVerdict, MarketMultiples, judge_move
from agents.numbers.survival import buffer_hours
from chain.base.once_per_object import once_per_object

_SECONDS_PER_HOUR = 3_600


class MoveAdvice(NamedTuple):
    """What the rule says of a move, and the figures it said it on."""

    advice: Advice
    hours: float
    """For which gain is counted: the range's expected life, a week at most."""
    gain: float | None
    """Over HOLD in these hours, after the cost: of figures in cents, as they stand beside it."""
    cost: float | None

    @property
    def permits(self) -> bool:
        return self.advice.action is AdvisedAction.MOVE


def standing_advice(
    context: ScoutContext, evaluation: EvaluationContext, changed: MarketMultiples = AS_OBSERVED
) -> Advice:
    """What the rule says where nobody proposes a move: leave, or stay."""
    inputs = _inputs(evaluation, changed_market(evaluation, changed), HOURS_PER_WEEK)
    return advise(inputs._replace(hours_since_action=hours_since_action(context)))


def move_advice(
    context: ScoutContext,
    evaluation: EvaluationContext,
    move: Evaluated,
    changed: MarketMultiples = AS_OBSERVED,
) -> MoveAdvice:
    """What the rule says if this is the move to make."""
    since = hours_since_action(context)
    if changed == AS_OBSERVED:
        return _observed_move(evaluation, move, since)
    return _move_advice(evaluation, changed, move, since)


def advised_move(context: ScoutContext, move: Evaluated) -> MoveAdvice:
    """The same in the pool that it is made for."""
    shape = move.candidate.shape
    pool = 0 if shape is None else shape.pool_index
    return move_advice(context, evaluation_of(context, pool), move)


# Each agent asks this of the same candidates; both are told apart as objects.
@lru_cache(maxsize=64)
def _observed_move(
    evaluation: EvaluationContext, move: Evaluated, hours_since_action: float | None
) -> MoveAdvice:
    return _move_advice(evaluation, AS_OBSERVED, move, hours_since_action)


def _move_advice(
    evaluation: EvaluationContext,
    changed: MarketMultiples,
    move: Evaluated,
    hours_since_action: float | None,
) -> MoveAdvice:
    market = changed_market(evaluation, changed)
    beside = move.numbers.entry is not None
    hours = HOURS_PER_WEEK if beside else horizon_hours(market, move.stake)
    net = net_over(market, move.stake, hours).total
    proposed = AdvisedMove(_half_width(move.stake.ticks), net, move.cost)
    left = evaluation.leaving
    if left is None:
        inputs = _inputs(evaluation, market, hours)
    else:
        inputs = _inputs(left, changed_market(left, changed), hours)
        if not inputs.inside:
            # Outside nothing is lost by waiting: what is entered must pay.
            inputs = inputs._replace(edge_7d=market.edge_7d)
    inputs = inputs._replace(move=proposed, hours_since_action=hours_since_action)
    held = inputs.hold_net
    after_cost = None if net is None or move.cost is None else net - move.cost
    return MoveAdvice(advise(inputs), hours, gain_over(after_cost, held), move.cost)


def still_permitted(
    context: ScoutContext, evaluation: EvaluationContext, move: Evaluated, changed: MarketMultiples
) -> bool:
    """Whether rule and floors would allow a move in a market that is otherwise."""
    if not move_advice(context, evaluation, move, changed).permits:
        return False
    market = changed_market(evaluation, changed)
    beside = move.numbers.entry is not None
    numbers = move_numbers(evaluation, market, move.stake, move.price, changed, beside=beside)
    swapping = numbers._replace(
        price_moved=move.numbers.price_moved, pool_fee=move.numbers.pool_fee
    )
    judged = judge_move(swapping, PROFILES[context.profile])
    return judged.verdict is not JudgmentVerdict.VETO


def hours_since_action(context: ScoutContext) -> float | None:
    """On this position, by this desk; None when there was no action, or no position."""
    if not isinstance(context, MarketContext) or context.position.last_action_time is None:
        return None
    return max(0, context.time - context.position.last_action_time) / _SECONDS_PER_HOUR


def _inputs(evaluation: EvaluationContext, market: PoolMarket, move_hours: float) -> AdviceInputs:
    """In range a week is looked at; outside, just the hours that a move would be judged by."""
    as_observed = market is evaluation.market
    inputs = _observed_week(evaluation) if as_observed else _week(evaluation, market)
    if evaluation.hold is not None and not inputs.inside and move_hours != HOURS_PER_WEEK:
        inputs = inputs._replace(hold_net=net_over(market, evaluation.hold, move_hours).total)
    return inputs


def _week(evaluation: EvaluationContext, market: PoolMarket) -> AdviceInputs:
    current, held = evaluation.current, evaluation.hold
    if held is None or current is None:
        return AdviceInputs(
            inside=False,
            half_width=0.0,
            edge_7d=market.edge_7d,
            worth=_capital_worth(evaluation),
            hold_net=0.0,
            exit_cost=0.0,
        )
    edges = edges_of(market.price, current)
    unit1 = market.unit1_value
    week = net_over(market, held, HOURS_PER_WEEK)
    floor = PROFILES[evaluation.profile].buffer_floor_hours
    is_thin = edges.inside and buffer_hours(edges, daily_ticks(market.daily_sigma)) < floor
    return AdviceInputs(
        inside=edges.inside,
        half_width=_half_width(current),
        edge_7d=market.edge_7d,
        worth=None if unit1 is None else position_value(held.liquidity, market.price, edges, unit1),
        hold_net=week.total,
        exit_cost=exit_cost(evaluation),
        week_again=week_again(market, week),
        thin=is_thin,
        dangerous=bool(evaluation.dangers),
    )


@once_per_object
def _observed_week(evaluation: EvaluationContext) -> AdviceInputs:
    return _week(evaluation, evaluation.market)


def _capital_worth(evaluation: EvaluationContext) -> float | None:
    unit1 = evaluation.market.unit1_value
    return None if unit1 is None else evaluation.worth1(evaluation.available) * unit1


def _half_width(ticks: TickRange) -> float:
    """Half the logarithm of upper over lower price."""
    return ticks.width * TICK_LOG / 2


_ARGUABLE = frozenset(
    (
        AdviceReason.IN_RANGE,
        AdviceReason.IN_DEAD_BAND,
        AdviceReason.THIN_BUFFER,
        AdviceReason.NO_CANDIDATE,
    )
)
"""Where the pool pays, or nearly: there is something to be said for staying and for moving."""


def decided_by_rule(context: ScoutContext) -> bool:
    """Whether the rule holds or leaves whatever is proposed, arguable or not."""
    if isinstance(context, CreateContext):
        return _settled_capital(context) is not None
    standing = standing_advice(context, evaluation_of(context))
    return (
        advice_without_debate(context) is not None
        or standing.reasons[0] is not AdviceReason.NO_CANDIDATE
    )


@once_per_object
def advice_without_debate(context: ScoutContext) -> Advice | None:
    """The rule's advice where a danger, a pause, an unknown or an unpaid risk decides alone."""
    if isinstance(context, CreateContext):
        return _settled_capital(context)
    evaluation = evaluation_of(context)
    standing = standing_advice(context, evaluation)
    if standing.action is AdvisedAction.EXIT or standing.reasons[0] not in _ARGUABLE:
        return standing
    if not any(evaluation.available):
        return standing._replace(reasons=(AdviceReason.NO_CANDIDATE,))
    return None


def _settled_capital(context: CreateContext) -> Advice | None:
    """None as soon as one pool is safe and may pay for entering it."""
    first = None
    for index in range(len(context.surveyed_pools)):
        evaluation = evaluation_of(context, index)
        standing = standing_advice(context, evaluation)
        if not evaluation.dangers and standing.reasons[0] in _ARGUABLE:
            return None
        first = first or standing
    return first
