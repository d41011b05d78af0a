"""From a shape to a candidate with every number; the Critic repeats it to catch a wrong one.

Nothing here reads a chain, a clock or a model: the same ground and shape give the same candidate.
"""

from math import inf
from typing import NamedTuple

from msgspec import Struct

from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import CreateContext, ScoutContext
from agents.lp.plan import BufferHours, Candidate, CandidateKind, PrepAction, ShapeChoice, Survival
from agents.numbers.costs import (
    UNSUBSCRIBING,
    CostedRecipe,
    MintedRange,
    break_even_hours,
    gas_cost,
    gas_units,
    gas_yield,
    move_cost,
    price_moved,
)
from agents.numbers.edges import TickRange, edges_of
from agents.numbers.inventory import (
    Allocation,
    PriceSpan,
    RoutedAllocation,
    SwapTerms,
    allocate_for_create,
    allocate_holdings,
    routed_allocation,
)
from agents.numbers.outlook import (
    HOURS_PER_WEEK,
    Outlook,
    PoolMarket,
    Stake,
    gain_over_hold,
    horizon_hours,
    look_at,
    net_over,
)
from agents.numbers.regime import daily_ticks
from agents.numbers.rounding import writable
from agents.numbers.rules import AS_OBSERVED, MarketMultiples, MoveNumbers
from agents.numbers.shapes import move_kind
from agents.numbers.survival import HOURS_PER_DAY, entry_chance, range_exit
from chain.base.units import PIPS
from chain.contracts.hooks import hook_passport
from chain.math.ticks import sqrt_price_at_tick


class MovePrice(NamedTuple):
    """What a move takes out of the person's pocket, in dollars; None is unknown."""

    gas: float | None
    swap: float | None
    minting_loss: float | None

    @property
    def total(self) -> float | None:
        if self.gas is None or self.swap is None or self.minting_loss is None:
            return None
        return self.gas + self.swap + self.minting_loss


class Evaluated(Struct, frozen=True, eq=False):
    """A candidate as it travels, and the unrounded numbers it is judged by."""

    candidate: Candidate
    numbers: MoveNumbers
    stake: Stake
    price: MovePrice

    @property
    def cost(self) -> float | None:
        return self.price.total


def evaluate(evaluation: EvaluationContext, choice: ShapeChoice, index: int) -> Evaluated:
    """The candidate a shape becomes: snapped ticks, exact amounts, stress, yield, cost."""
    ticks = evaluation.ticks(choice)
    routed = allocation_for(evaluation, ticks, swaps=not choice.beside)
    allocation = routed.allocation
    stake = Stake(ticks, allocation.liquidity)
    outlook = look_at(evaluation.market, stake)
    price = _price(evaluation, routed, ticks)
    moved = routed.price_moved or price_moved(allocation.swap, evaluation.sqrt_price)
    numbers = move_numbers(evaluation, evaluation.market, stake, price, beside=choice.beside)
    numbers = numbers._replace(price_moved=moved, pool_fee=evaluation.observed.pool.lp_fee / PIPS)
    candidate = _in_range(evaluation, stake, outlook, price.total).model_copy(
        update={
            "kind": _kind(evaluation, ticks),
            "index": index,
            "shape": choice,
            "amount0": allocation.deposit.amount0,
            "amount1": allocation.deposit.amount1,
            "residual0": allocation.residual.amount0,
            "residual1": allocation.residual.amount1,
            "withdrawn0": evaluation.withdrawn.amount0,
            "withdrawn1": evaluation.withdrawn.amount1,
            "prep_action": _prep_action(routed, price, moved),
            "gas_usd": writable(price.gas),
            "cost_usd": writable(price.total),
            "gas_yield": writable(numbers.gas_yield),
            "break_even_hours": writable(numbers.break_even_hours),
            "breaks_even": numbers.break_even_hours != inf,
        }
    )
    return Evaluated(candidate, numbers, stake, price)


def _kind(evaluation: EvaluationContext, ticks: TickRange) -> CandidateKind:
    if evaluation.leaving is not None:
        return "migrate"
    return "create" if evaluation.current is None else move_kind(evaluation.current, ticks).value


def move_numbers(
    evaluation: EvaluationContext,
    market: PoolMarket,
    stake: Stake,
    price: MovePrice,
    changed: MarketMultiples = AS_OBSERVED,
    *,
    beside: bool = False,
) -> MoveNumbers:
    """What a move is judged by in a market, which may be another than the one observed."""
    edges = edges_of(market.price, stake.ticks)
    life = range_exit(edges, daily_ticks(market.daily_sigma))
    fees = net_over(market, stake, HOURS_PER_DAY).fees
    hours = HOURS_PER_WEEK if beside else horizon_hours(market, stake)
    gain = gain_over_hold(market, evaluation.hold, stake, hours)
    left = evaluation.leaving
    if gain is not None and left is not None and left.hold is not None:
        held = net_over(changed_market(left, changed), left.hold, hours).total
        gain = None if held is None else gain - held
    gain_24h = gain if not gain else gain * HOURS_PER_DAY / hours
    return MoveNumbers(
        price_inside=edges.inside,
        buffers=life.buffers,
        median_life_hours=life.median_hours,
        fee_24h=fees,
        gas_yield=None if price.gas is None else gas_yield(price.gas, fees),
        break_even_hours=None if price.total is None else break_even_hours(price.total, gain_24h),
        dangers=evaluation.dangers,
        entry=entry_chance(edges, daily_ticks(market.daily_sigma)) if beside else None,
    )


def changed_market(evaluation: EvaluationContext, changed: MarketMultiples) -> PoolMarket:
    if changed == AS_OBSERVED:
        return evaluation.market
    return evaluation.market.at_multiples(volatility=changed.volatility, fees=changed.fees)


def hold_candidate(context: ScoutContext) -> Candidate:
    """Doing nothing, with its own numbers; before a position exists that is keeping the capital."""
    evaluation = evaluation_of(context)
    if isinstance(context, CreateContext) or evaluation.hold is None:
        return _in_wallet(evaluation, "hold", gas=0.0)
    return _in_range(
        evaluation, evaluation.hold, look_at(evaluation.market, evaluation.hold), 0.0
    ).model_copy(update={"amount0": context.position.amount0, "amount1": context.position.amount1})


def exit_candidate(context: ScoutContext) -> Candidate | None:
    """Taking everything out; there is nothing to leave before a position exists."""
    if isinstance(context, CreateContext):
        return None
    evaluation = evaluation_of(context)
    return _in_wallet(evaluation, "exit", gas=exit_cost(evaluation))


def exit_cost(evaluation: EvaluationContext) -> float | None:
    """What leaving costs, in dollars."""
    return gas_usd(evaluation, CostedRecipe.EXIT)


def allocation_for(
    evaluation: EvaluationContext, ticks: TickRange, *, swaps: bool = True
) -> RoutedAllocation:
    """Without a swap where what is left over is dust, else with the one that pays best."""
    if not swaps:
        price, held = evaluation.sqrt_price, evaluation.available
        return RoutedAllocation(allocate_holdings(price, ticks, held, None, evaluation.hold))

    def allocate(terms: SwapTerms) -> Allocation:
        price, available = evaluation.sqrt_price, evaluation.available
        if evaluation.current is not None or evaluation.leaving is not None:
            return allocate_holdings(price, ticks, available, terms, evaluation.hold)
        return allocate_for_create(evaluation.pool_key, price, ticks, available, terms).allocation

    return routed_allocation(allocate, evaluation.terms, evaluation.other_pools)


def _price(evaluation: EvaluationContext, routed: RoutedAllocation, ticks: TickRange) -> MovePrice:
    allocation = routed.allocation
    gas = gas_usd(evaluation, _recipe(evaluation, allocation))
    unit1 = evaluation.market.unit1_value
    if allocation.swap is None:
        return MovePrice(gas, 0.0, 0.0)
    if unit1 is None:
        return MovePrice(gas, None, None)
    minted = MintedRange(
        PriceSpan(sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper)),
        allocation.liquidity,
        evaluation.observed.pool.lp_fee,
    )
    if routed.through is not None:
        # At the price of its own pool, and without moving the one that is entered.
        price = routed.through.state.sqrt_price_x96
        cost = move_cost(0.0, allocation.swap, price, unit1, minted)
        return MovePrice(gas, cost.swap_fee + cost.slippage, 0.0)
    cost = move_cost(0.0, allocation.swap, evaluation.sqrt_price, unit1, minted)
    return MovePrice(gas, cost.swap_fee + cost.slippage, cost.minting_loss)


def _recipe(evaluation: EvaluationContext, allocation: Allocation) -> CostedRecipe:
    if evaluation.leaving is not None:
        swaps = allocation.swap is not None
        return (
            CostedRecipe.SWAP_AND_ENTER_FROM_ELSEWHERE
            if swaps
            else CostedRecipe.ENTER_FROM_ELSEWHERE
        )
    if evaluation.current is None:
        return CostedRecipe.SWAP_AND_ENTER if allocation.swap else CostedRecipe.ENTER
    return CostedRecipe.RERANGE_WITH_SWAP if allocation.swap else CostedRecipe.RERANGE


def gas_usd(evaluation: EvaluationContext, recipe: CostedRecipe) -> float | None:
    gas, key = evaluation.gas, evaluation.pool_key
    if gas.usd_per_wei is None:
        return None
    # Where the hook may keep a part of what comes out, a plan is sent in steps.
    as_one = gas.as_one and not hook_passport(key.hooks, key.fee).can_tax_exit
    units = gas_units(key.protocol, recipe, evaluation.unwritten_fees, as_one=as_one)
    if (left := evaluation.leaving) is not None:
        exit_units = gas_units(
            left.pool_key.protocol, CostedRecipe.EXIT, left.unwritten_fees, as_one=as_one
        )
        units += exit_units
    units += UNSUBSCRIBING if evaluation.has_subscriber else 0
    return gas_cost(units, gas.wei_per_gas, gas.usd_per_wei, l1_data_fee_wei=gas.l1_data_fee_wei)


def _prep_action(routed: RoutedAllocation, price: MovePrice, moved: float) -> PrepAction | None:
    swap, through = routed.allocation.swap, routed.through
    if swap is None:
        return None
    return PrepAction(
        zero_for_one=swap.zero_for_one,
        amount_in=swap.amount_in,
        amount_out=swap.amount_out,
        fee_pips=swap.fee_pips,
        cost_usd=writable(price.swap),
        price_moved=moved,
        minting_loss_usd=writable(price.minting_loss),
        pool_id=None if through is None else through.state.pool_id,
    )


def _in_range(
    evaluation: EvaluationContext, stake: Stake, outlook: Outlook, cost: float | None
) -> Candidate:
    """Liquidity in a range: HOLD's own numbers, from which a move's differ in what it takes."""
    life = outlook.exit
    return Candidate(
        kind="hold",
        index=None,
        pool_id=evaluation.observed.pool.pool_id,
        shape=None,
        tick_lower=stake.ticks.lower,
        tick_upper=stake.ticks.upper,
        amount0=0,
        amount1=0,
        residual0=0,
        residual1=0,
        liquidity=stake.liquidity,
        prep_action=None,
        buffer_hours=BufferHours(
            at_1x=life.buffers.at_1x, at_2x=life.buffers.at_2x, at_3x=life.buffers.at_3x
        ),
        survival=Survival(day=life.survival_24h, week=life.survival_7d),
        median_life_hours=life.median_hours,
        in_range_share=outlook.in_range_share,
        value_usd=writable(outlook.value),
        fee_yield_24h=writable(outlook.fee_24h),
        fee_low_24h=writable(outlook.fee_low_24h),
        fee_high_24h=writable(outlook.fee_high_24h),
        lvr_24h=writable(outlook.lvr_24h),
        net_7d=_less(outlook.week.total, cost),
        net_low_7d=_less(outlook.week_low.total, cost),
        net_high_7d=_less(outlook.week_high.total, cost),
        gas_usd=0.0,
        cost_usd=0.0,
        gas_yield=None,
        break_even_hours=None,
        breaks_even=True,
    )


def _in_wallet(
    evaluation: EvaluationContext, kind: CandidateKind, *, gas: float | None
) -> Candidate:
    """Tokens in the wallet: no range, no fees, no LVR."""
    unit1 = evaluation.market.unit1_value
    paid = evaluation.available.plus(evaluation.withdrawn)
    value = None if unit1 is None else evaluation.worth1(paid) * unit1
    return Candidate(
        kind=kind,
        index=None,
        pool_id=evaluation.observed.pool.pool_id,
        shape=None,
        tick_lower=None,
        tick_upper=None,
        amount0=paid.amount0,
        amount1=paid.amount1,
        residual0=0,
        residual1=0,
        liquidity=0,
        prep_action=None,
        buffer_hours=None,
        survival=None,
        median_life_hours=None,
        in_range_share=None,
        value_usd=writable(value),
        fee_yield_24h=0.0,
        fee_low_24h=0.0,
        fee_high_24h=0.0,
        lvr_24h=0.0,
        net_7d=_less(0.0, gas),
        net_low_7d=_less(0.0, gas),
        net_high_7d=_less(0.0, gas),
        gas_usd=writable(gas),
        cost_usd=writable(gas),
        gas_yield=None,
        break_even_hours=None,
        breaks_even=True,
    )


def _less(net: float | None, cost: float | None) -> float | None:
    return None if net is None or cost is None else writable(net - cost)
