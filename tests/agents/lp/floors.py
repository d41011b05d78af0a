"""A plan judged a second time, from the observed facts and its ticks alone."""

from __future__ import annotations

from collections.abc import Iterator

from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import CreateContext, MarketContext, ObservedPool, ObservedPoolFacts, key_of
from agents.lp.plan import Candidate, Plan, PrepAction
from agents.numbers.costs import (
    CostedRecipe,
    MintedRange,
    break_even_hours,
    gas_cost,
    gas_units,
    gas_yield,
    move_cost,
    price_moved,
    unwritten_fees,
)
from agents.numbers.edges import TickRange, price_tick
from agents.numbers.fees import full_range_value
from agents.numbers.inventory import PrepSwap, PriceSpan, SwapTerms, allocate_inventory, terms_of
from agents.numbers.outlook import (
    PoolMarket,
    Stake,
    expected_life_hours,
    look_at,
    net_over,
)
from agents.numbers.regime import daily_ticks
from agents.numbers.rounding import writable
from agents.numbers.rules import PROFILES, JudgmentVerdict, MoveNumbers, judge_move
from agents.numbers.survival import entry_chance, week_sigma
from chain.base.units import PIPS
from chain.contracts.hooks import hook_passport
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.depth import quote_at_most
from tests.agents.lp.second_opinion import waits_beside

Context = MarketContext | CreateContext

_ORDER = list(JudgmentVerdict)


def broken_floors(context: Context, plan: Plan) -> Iterator[str]:
    """What is wrong with a plan's moves; nothing, if the floors held whatever a model said."""
    for move in plan.candidates:
        verdict = _Again(context, move).verdict
        said = None if move.judgment is None else move.judgment.verdict
        if said is None or _ORDER.index(said) < _ORDER.index(verdict):
            yield f"move {move.index} is {verdict} by the rules, but {said} in the plan"
        yield from _wrong_numbers(_Again(context, move), move)
        yield from _wrong_amounts(context, move)
    if plan.choice.kind == "move":
        yield from _broken_by_choice(context, plan)


def _broken_by_choice(context: Context, plan: Plan) -> Iterator[str]:
    move = plan.recommended
    if move not in plan.candidates or move.index != plan.choice.index:
        yield "what is recommended is none of the candidates"
        return
    again = _Again(context, move)
    worst = JudgmentVerdict.ACCEPT if plan.decided_by == "critic" else JudgmentVerdict.REVISE
    if _ORDER.index(again.verdict) > _ORDER.index(worst):
        yield f"{plan.decided_by} chose a move that the rules {again.verdict}"
    if not again.earns_twice_its_cost:
        yield "the move does not earn twice its cost in a week"


def _wrong_numbers(again: _Again, move: Candidate) -> Iterator[str]:
    outlook = again.outlook
    told = {
        "1× buffer": (move.buffer_hours and move.buffer_hours.at_1x, outlook.exit.buffers.at_1x),
        "week's survival": (move.survival and move.survival.week, outlook.exit.survival_7d),
        "fees": (move.fee_yield_24h, outlook.fee_24h),
        "LVR": (move.lvr_24h, outlook.lvr_24h),
        "value": (move.value_usd, outlook.value),
        "cost": (move.cost_usd, again.cost),
        "break-even": (move.break_even_hours, again.break_even),
    }
    for name, (written, computed) in told.items():
        if written != writable(computed):
            yield f"the {name} of move {move.index} is {written}, not {computed}"


def _wrong_amounts(context: Context, move: Candidate) -> Iterator[str]:
    """Every unit a move takes, swaps and leaves follows from the facts and its ticks alone."""
    evaluation = evaluation_of(context, _pool_index(context, move))
    assert move.tick_lower is not None
    assert move.tick_upper is not None
    filled = allocate_inventory(
        evaluation.sqrt_price,
        TickRange(move.tick_lower, move.tick_upper),
        evaluation.available,
        Amounts(0, 0),
        None if move.prep_action is None else _terms(evaluation, move.prep_action),
    )
    swap = move.prep_action
    yield from _better_pools(evaluation, move)
    # A part is kept back, at most a hundredth of what a position pays and three of capital.
    kept = 100 if isinstance(context, MarketContext) else 300
    least = filled.liquidity * (10_000 - kept) // 10_000
    if not least * (1 - 1e-6) <= move.liquidity <= filled.liquidity:
        yield f"the liquidity of move {move.index} is {move.liquidity}, not over {least}"
    price = filled.swap.sqrt_price_after if filled.swap else evaluation.sqrt_price
    edges = sqrt_price_at_tick(move.tick_lower), sqrt_price_at_tick(move.tick_upper)
    deposit = amounts_for_liquidity(price, *edges, move.liquidity, round_up=True)
    told = {
        "deposit": ((move.amount0, move.amount1), deposit),
        "residual": (
            (move.residual0, move.residual1),
            filled.deposit.plus(filled.residual).less(deposit),
        ),
        "swap": (
            swap and (swap.zero_for_one, swap.amount_in, swap.amount_out, swap.fee_pips),
            filled.swap and filled.swap[:4],
        ),
    }
    for name, (written, computed) in told.items():
        if written != computed:
            yield f"the {name} of move {move.index} is {written}, not {computed}"


def _terms(evaluation: EvaluationContext, swap: PrepAction) -> SwapTerms:
    if swap.pool_id is None:
        return evaluation.terms
    (through,) = [one for one in evaluation.other_pools if one.state.pool_id == swap.pool_id]
    return terms_of(through, elsewhere=True)


def _better_pools(evaluation: EvaluationContext, move: Candidate) -> Iterator[str]:
    """No pool of the pair pays more for what is sold; solving anew shifts it by a little."""
    swap = move.prep_action
    if swap is None:
        return
    most = swap.amount_out * 10_001 // 10_000
    for pool in evaluation.other_pools:
        quote = quote_at_most(pool, swap.amount_in, zero_for_one=swap.zero_for_one)
        if quote.amount_in == swap.amount_in and quote.amount_out > most:
            yield f"move {move.index} swaps for less than {quote.amount_out}"


def _pool_index(context: Context, move: Candidate) -> int:
    if isinstance(context, MarketContext):
        return 0
    return [one.pool.pool_id for one in context.surveyed_pools].index(move.pool_id)


class _Again:
    """One move's numbers from its ticks and liquidity."""

    def __init__(self, context: Context, move: Candidate) -> None:
        observed, own, current = _place(context, move)
        pool = observed.pool
        inside = current is not None and current.lower <= pool.tick < current.upper
        self._rules = PROFILES[context.profile]
        self.market = _market(observed, own if inside else 0)
        assert move.tick_lower is not None
        assert move.tick_upper is not None
        self.stake = Stake(TickRange(move.tick_lower, move.tick_upper), move.liquidity)
        hold = Stake(current, own) if current is not None and own else None
        self.outlook = look_at(self.market, self.stake)
        # What waits beside the price is looked at for a week.
        beside = waits_beside(move)
        life = 168.0 if beside else min(expected_life_hours(self.market, self.stake), 168.0)
        ticks_a_day = daily_ticks(self.market.daily_sigma)
        self._entry = entry_chance(self.outlook.edges, ticks_a_day) if beside else None
        moved, held = (
            0.0 if one is None else net_over(self.market, one, life).total
            for one in (self.stake, hold)
        )
        self._gain_in_life = None if moved is None or held is None else moved - held
        self.gain = _a_day(self._gain_in_life, life)
        gas = context.gas
        self._gas = (
            None
            if gas.usd_per_wei is None
            else gas_cost(
                _units(context, pool, _recipe(move, held=current is not None)),
                gas.wei_per_gas,
                gas.usd_per_wei,
                l1_data_fee_wei=gas.l1_data_fee_wei,
            )
        )
        self._swap, self._lp_fee = _swap_of(context, move), pool.lp_fee
        self._moved = price_moved(self._swap, pool.sqrt_price_x96)
        self.cost = self._whole_cost(move, pool.sqrt_price_x96)
        self.break_even = None if self.cost is None else break_even_hours(self.cost, self.gain)

    @property
    def earns_twice_its_cost(self) -> bool:
        gain, edge = self._gain_in_life, self.market.edge_7d
        known = gain is not None and self.cost is not None and edge is not None
        return known and gain > 2 * self.cost and edge > 1.25  # type: ignore[operator]

    @property
    def verdict(self) -> JudgmentVerdict:
        outlook = self.outlook
        numbers = MoveNumbers(
            price_inside=outlook.edges.inside,
            buffers=outlook.exit.buffers,
            median_life_hours=outlook.exit.median_hours,
            fee_24h=outlook.fee_24h,
            gas_yield=None if self._gas is None else gas_yield(self._gas, outlook.fee_24h),
            break_even_hours=self.break_even,
            price_moved=self._moved,
            pool_fee=self._lp_fee / PIPS,
            entry=self._entry,
        )
        return judge_move(numbers, self._rules).verdict

    def _whole_cost(self, move: Candidate, sqrt_price: int) -> float | None:
        unit1, done = self.market.unit1_value, self._swap
        if self._gas is None or (done is not None and unit1 is None):
            return None
        if done is None or unit1 is None:
            return self._gas
        lower, upper = (sqrt_price_at_tick(tick) for tick in self.stake.ticks)
        minted = MintedRange(PriceSpan(lower, upper), move.liquidity, self._lp_fee)
        cost = move_cost(0.0, done, sqrt_price, unit1, minted)
        return self._gas + (cost.swap_fee + cost.slippage) + cost.minting_loss


def _a_day(gain: float | None, hours: float) -> float | None:
    return None if gain is None or not hours else gain * 24 / hours


def _market(observed: ObservedPool, own: int) -> PoolMarket:
    price, unit1 = price_tick(observed.pool.sqrt_price_x96), observed.token1.usd_per_unit
    market = observed.market
    active, others = None, None
    if unit1 is not None:
        worth = full_range_value(own, price, unit1)
        active = (
            market.fees_24h_usd / market.fee_rate_24h
            if market.fees_24h_usd and market.fee_rate_24h
            else 0.0
        )
        if active <= worth:
            active = full_range_value(observed.pool.liquidity - own, price, unit1) + worth
        others = active - worth
    return PoolMarket(
        price=price,
        daily_sigma=market.sigma,
        edge_7d=market.edge_7d,
        fee_rate_7d=market.fee_rate_7d,
        active_worth=active,
        others_worth=others,
        unit1_value=unit1,
        fee_low_factor=market.fee_low_factor,
        fee_high_factor=market.fee_high_factor,
        week_low_factor=market.week_low_factor,
        week_high_factor=market.week_high_factor,
        week_sigma=week_sigma(market.sigma_24h, market.sigma_7d, market.sigma_30d),
    )


def _swap_of(context: Context, move: Candidate) -> PrepSwap | None:
    """The swap of a move with where it leaves the price, by the pool's own liquidity."""
    swap = move.prep_action
    if swap is None:
        return None
    evaluation = evaluation_of(context, _pool_index(context, move))
    if swap.pool_id is not None:
        made = (swap.zero_for_one, swap.amount_in, swap.amount_out, swap.fee_pips)
        return PrepSwap(*made, evaluation.sqrt_price)
    depth = evaluation.terms.depth
    assert depth is not None
    after = quote_at_most(depth, swap.amount_in, zero_for_one=swap.zero_for_one).sqrt_price_after
    return PrepSwap(swap.zero_for_one, swap.amount_in, swap.amount_out, swap.fee_pips, after)


def _place(context: Context, move: Candidate) -> tuple[ObservedPool, int, TickRange | None]:
    """The pool a move is in, the liquidity held there now, and between which ticks."""
    if isinstance(context, MarketContext):
        position = context.position
        current = TickRange(position.tick_lower, position.tick_upper)
        return context.observed, position.liquidity, current
    (observed,) = [one for one in context.surveyed_pools if one.pool.pool_id == move.pool_id]
    return observed, 0, None


def _units(context: Context, pool: ObservedPoolFacts, recipe: CostedRecipe) -> int:
    key, unwritten = key_of(pool), 0
    if isinstance(context, MarketContext):
        held = context.position
        fees = Amounts(held.fees0, held.fees1)
        unwritten = unwritten_fees(fees, Amounts(held.withdrawn0, held.withdrawn1))
    as_one = context.gas.as_one and not hook_passport(key.hooks, key.fee).can_tax_exit
    return gas_units(key.protocol, recipe, unwritten, as_one=as_one)


def _recipe(move: Candidate, *, held: bool) -> CostedRecipe:
    if held:
        return CostedRecipe.RERANGE_WITH_SWAP if move.prep_action else CostedRecipe.RERANGE
    return CostedRecipe.SWAP_AND_ENTER if move.prep_action else CostedRecipe.ENTER
