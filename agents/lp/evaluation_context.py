"""One pool of Scout's context, as the numbers want it: what is held, what it could become."""

from __future__ import annotations

from math import log

from msgspec import Struct

from agents.lp import facts
from agents.lp.plan import OwnRange, ShapeChoice
from agents.numbers.costs import unwritten_fees
from agents.numbers.edges import TICK_LOG, TickRange, price_tick
from agents.numbers.fees import full_range_value, others_liquidity
from agents.numbers.inventory import SwapTerms, terms_of
from agents.numbers.outlook import PoolMarket, Stake
from agents.numbers.regime import daily_ticks
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import (
    Shape,
    ShapeError,
    create_base,
    exposure_offset,
    range_beside,
    rebalance_base,
    snapped_range,
)
from agents.numbers.survival import week_sigma
from chain.base.once_per_object import once_per_object
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts
from chain.math.ticks import nearest_usable_tick, usable_ticks
from chain.pools.depth import Depth
from chain.protocols.pool import is_turned, is_usual_pool


class EvaluationContext(Struct, frozen=True, eq=False, weakref=True):
    observed: facts.ObservedPool
    gas: facts.GasFacts
    market: PoolMarket
    available: Amounts
    """What can be put into a range: holdings and fees, or the capital."""
    current: TickRange | None
    """The range held now; None when there is no position yet."""
    hold: Stake | None
    """None also when the position is empty."""
    base_half_width: float
    profile_half_width: float
    """The least whose buffer keeps the profile's floor."""
    capital_is_currency0: bool
    others_liquidity: int
    """Active liquidity without the person's own position."""
    allowed_hooks: tuple[str, ...]
    profile: RiskProfile
    other_pools: tuple[Depth, ...]
    """The pair's other plain pools, which a swap may go through."""
    unwritten_fees: int = 0
    """In how many tokens leaving has fees to write down."""
    has_subscriber: bool = False
    """Whether a contract is dismissed before anything is taken out."""
    withdrawn: Amounts = Amounts(0, 0)
    """Taken out of the range before: it comes to the wallet with whatever is done."""
    leaving: EvaluationContext | None = None
    """What is held in another pool and would go into this one."""

    @property
    def is_turned(self) -> bool:
        """Whether the pair stands in the other order here than where it comes from."""
        return self.leaving is not None and is_turned(self.leaving.pool_key, self.pool_key)

    @property
    def in_range(self) -> bool:
        """Whether a position is held and the price is inside it."""
        if self.hold is None or self.current is None:
            return False
        return self.current.lower <= self.observed.pool.tick < self.current.upper

    @property
    def ticks_a_day(self) -> float:
        return daily_ticks(self.market.daily_sigma)

    @property
    def sqrt_price(self) -> int:
        return self.observed.pool.sqrt_price_x96

    @property
    def terms(self) -> SwapTerms:
        """What a swap meets once the position itself has left the pool."""
        return _terms(self)

    @property
    def dangers(self) -> tuple[str, ...]:
        """What a dangerous hook's passport warns of, unless the person allowed the hook."""
        pool = self.observed.pool
        trusted = pool.hooks in self.allowed_hooks
        return pool.hook_powers if pool.hook_danger == "dangerous" and not trusted else ()

    @property
    def pool_key(self) -> PoolKey:
        return facts.key_of(self.observed.pool)

    def worth1(self, amounts: Amounts) -> int:
        """Both amounts in units of currency1 at the pool's price."""
        return amounts.amount1 + (amounts.amount0 * self.sqrt_price**2 >> 192)

    def ticks(self, choice: ShapeChoice) -> TickRange:
        """The usable ticks nearest to a shape."""
        pool = self.observed.pool
        if choice.own_range is not None:
            return own_ticks(choice.own_range, pool)
        if choice.same_range and self.leaving is not None and self.leaving.current is not None:
            return same_ticks(self.leaving.current, pool.tick_spacing, turned=self.is_turned)
        if choice.beside and self.current is not None:
            holds_currency0 = pool.tick < self.current.lower
            return range_beside(
                pool.tick,
                self.current.width,
                pool.tick_spacing,
                holds_currency0=holds_currency0,
            )
        if choice.full_range:
            return TickRange(*usable_ticks(pool.tick_spacing))
        shape = Shape(choice.width_multiplier, choice.center_offset_ticks)
        half = self.base_half_width * choice.width_multiplier
        shift = exposure_offset(
            choice.exposure, half, capital_is_currency0=self.capital_is_currency0
        )
        return snapped_range(pool.tick + shift, shape, self.base_half_width, pool.tick_spacing)


def same_ticks(ticks: TickRange, spacing: int, *, turned: bool) -> TickRange:
    """The usable ticks nearest to a range of another pool of the pair."""
    edges = (-ticks.upper, -ticks.lower) if turned else ticks
    lower, upper = (nearest_usable_tick(tick, spacing) for tick in edges)
    return TickRange(lower, max(upper, lower + spacing))


def own_ticks(own: OwnRange, pool: facts.ObservedPoolFacts) -> TickRange:
    """The usable ticks nearest to the prices a person named; ShapeError where they are one."""
    direct = own.token == pool.currency0 or own.quote == pool.currency1
    prices = (own.low, own.high) if direct else (1 / own.high, 1 / own.low)
    lower, upper = (
        nearest_usable_tick(round(log(price) / TICK_LOG), pool.tick_spacing) for price in prices
    )
    if lower >= upper:
        raise ShapeError("The two prices lie on one tick of the pool: name a wider range.")
    return TickRange(lower, upper)


@once_per_object
def _terms(evaluation: EvaluationContext) -> SwapTerms:
    depth = facts.depth_of(evaluation.observed.pool)
    if evaluation.hold is not None:
        ticks, liquidity = evaluation.hold
        depth = depth.without(ticks.lower, ticks.upper, liquidity)
    return terms_of(depth)


def evaluation_of(context: facts.ScoutContext, pool_index: int = 0) -> EvaluationContext:
    if isinstance(context, facts.MarketContext) and pool_index == 0:
        return _held_ground(context)
    grounds = _grounds(context)
    if pool_index not in grounds:
        grounds[pool_index] = (
            _ground_elsewhere(context, pool_index)
            if isinstance(context, facts.MarketContext)
            else _capital_ground(context, pool_index)
        )
    return grounds[pool_index]


@once_per_object
def _grounds(_context: facts.ScoutContext) -> dict[int, EvaluationContext]:
    """Those that were asked for, by the pool's index."""
    return {}


@once_per_object
def _held_ground(context: facts.MarketContext) -> EvaluationContext:
    observed, position = context.observed, context.position
    pool = observed.pool
    current = TickRange(position.tick_lower, position.tick_upper)
    inside = current.lower <= pool.tick < current.upper
    others = others_liquidity(pool.liquidity, position.liquidity, inside=inside)
    return EvaluationContext(
        observed=observed,
        gas=context.gas,
        market=_market(observed, position.liquidity if inside else 0, others),
        available=position.movable,
        withdrawn=position.amounts_withdrawn,
        has_subscriber=position.has_subscriber,
        current=current,
        hold=Stake(current, position.liquidity) if position.liquidity else None,
        base_half_width=rebalance_base(
            current, context.profile, daily_ticks(observed.market.sigma), pool.tick_spacing
        ),
        profile_half_width=_profile_half_width(context, observed),
        capital_is_currency0=position.amount0 > 0,
        others_liquidity=others,
        allowed_hooks=context.allowed_hooks,
        profile=context.profile,
        other_pools=_other_pools(context, pool),
        unwritten_fees=unwritten_fees(
            Amounts(position.fees0, position.fees1), position.amounts_withdrawn
        ),
    )


def _ground_elsewhere(context: facts.MarketContext, pool_index: int) -> EvaluationContext:
    """A pool of the same pair, with what the position would bring."""
    observed, leaving = context.pools[pool_index], _held_ground(context)
    turned = is_turned(leaving.pool_key, facts.key_of(observed.pool))
    half_width = _profile_half_width(context, observed)
    return EvaluationContext(
        observed=observed,
        gas=context.gas,
        market=_market(observed, 0, observed.pool.liquidity),
        available=leaving.available.in_order(turned),
        withdrawn=leaving.withdrawn.in_order(turned),
        has_subscriber=leaving.has_subscriber,
        current=None,
        hold=None,
        base_half_width=half_width,
        profile_half_width=half_width,
        capital_is_currency0=leaving.capital_is_currency0 is not turned,
        others_liquidity=observed.pool.liquidity,
        allowed_hooks=context.allowed_hooks,
        profile=context.profile,
        other_pools=_other_pools(context, observed.pool),
        unwritten_fees=leaving.unwritten_fees,
        leaving=leaving,
    )


def _capital_ground(context: facts.CreateContext, pool_index: int) -> EvaluationContext:
    observed = context.surveyed_pools[pool_index]
    pool = observed.pool
    tokens = [_entering(context, pool, amount.token) for amount in context.goal.capital]
    amounts = dict(zip(tokens, (amount.amount for amount in context.goal.capital), strict=True))
    capital = Amounts(amounts.get(pool.currency0, 0), amounts.get(pool.currency1, 0))
    return EvaluationContext(
        observed=observed,
        gas=context.gas,
        market=_market(observed, 0, observed.pool.liquidity),
        available=capital,
        current=None,
        hold=None,
        base_half_width=_profile_half_width(context, observed),
        profile_half_width=_profile_half_width(context, observed),
        capital_is_currency0=tokens[0] == pool.currency0,
        others_liquidity=pool.liquidity,
        allowed_hooks=context.allowed_hooks,
        profile=context.profile,
        other_pools=_other_pools(context, pool),
    )


def _other_pools(context: facts.ScoutContext, own: facts.ObservedPoolFacts) -> tuple[Depth, ...]:
    observed = context.pools if isinstance(context, facts.CreateContext) else context.into
    entered = facts.key_of(own)

    def serves(key: PoolKey) -> bool:
        alike = (key.protocol, key.currency0, key.currency1)
        same = alike == (entered.protocol, entered.currency0, entered.currency1)
        return same and key != entered and is_usual_pool(key)

    return tuple(
        facts.depth_of(pool)
        for pool in (*(each.pool for each in observed), *context.swap_pools)
        if serves(facts.key_of(pool))
    )


def _profile_half_width(context: facts.Observation, observed: facts.ObservedPool) -> float:
    ticks_a_day = daily_ticks(observed.market.sigma)
    return create_base(context.profile, ticks_a_day, observed.pool.tick_spacing)


def _entering(context: facts.CreateContext, pool: facts.ObservedPoolFacts, token: str) -> str:
    """The token capital enters a pool as: the chain's coin wrapped, where the pool asks for it."""
    if token == NATIVE and pool.currency0 != NATIVE and context.wrapped_native is not None:
        return context.wrapped_native
    return token


def _market(observed: facts.ObservedPool, own: int, others: int) -> PoolMarket:
    """The pool's market; `own` is what of the active liquidity is the person's."""
    price = price_tick(observed.pool.sqrt_price_x96)
    market, unit1 = observed.market, observed.token1.usd_per_unit
    active_worth, others_worth = None, None
    if unit1 is not None:
        own_worth = full_range_value(own, price, unit1)
        active_worth = _worth_that_earned(market) or 0.0
        others_worth = active_worth - own_worth
        if others_worth <= 0:
            others_worth = full_range_value(others, price, unit1)
            active_worth = others_worth + own_worth
    return PoolMarket(
        price=price,
        daily_sigma=market.sigma,
        edge_7d=market.edge_7d,
        fee_rate_7d=market.fee_rate_7d,
        active_worth=active_worth,
        others_worth=others_worth,
        unit1_value=unit1,
        fee_low_factor=market.fee_low_factor,
        fee_high_factor=market.fee_high_factor,
        week_low_factor=market.week_low_factor,
        week_high_factor=market.week_high_factor,
        week_sigma=week_sigma(market.sigma_24h, market.sigma_7d, market.sigma_30d),
    )


def _worth_that_earned(market: facts.MarketFacts) -> float | None:
    """Fees over fees per worth: the liquidity the last day's swaps met, whatever is active now."""
    if not market.fees_24h_usd or not market.fee_rate_24h:
        return None
    return market.fees_24h_usd / market.fee_rate_24h
