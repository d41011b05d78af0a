"""Pools with their depth, their week of swaps and their market, all up to one block."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from agents.lp.facts import MarketFacts, ObservedPool, ObservedPoolFacts
from agents.lp.observe.pool_facts import (
    MOST_STEPS,
    REACH,
    day_path,
    figure,
    nearest_changes,
    pool_facts,
    source_words,
    valued_token,
    week_path,
)
from agents.numbers.advice import edge_of
from agents.numbers.fees import FeeSpread, fee_spread, implied_daily_sigma
from agents.numbers.regime import RegimeReading, read_regime
from agents.numbers.rounding import significant
from agents.numbers.survival import SigmaEstimate, estimate_sigma
from chain.base.units import DAY as DAY_SECONDS
from chain.base.units import HOUR, Known, Quantity, Unknown, combine
from chain.contracts.hooks import NO_HOOK, HookPassport, hook_passport
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.history.events import SwapFees, fee_terms, fees
from chain.history.fee_rate import daily_rates, hour_sums, last_day_rate
from chain.history.hour_reader import HourMemory, read_given_hours
from chain.history.hours import PoolHours
from chain.history.volatility import (
    DAY,
    MONTH,
    WEEK,
    PairClass,
    PricePath,
    Volatility,
    VolatilityStep,
    class_of,
    path_efficiency,
    price_path,
    realised_volatility,
    volatility,
)
from chain.pools.depth import Depth, read_depths
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko
from chain.prices.ladder import market_closes
from chain.prices.price import PriceBook
from chain.protocols.pool import PoolState
from chain.protocols.registry import protocol_named, protocol_of_pool
from chain.protocols.rows import row_named
from chain.read.block_reader import OneBlock
from chain.read.logs import ScanProgress
from chain.rpc.records import Block
from chain.tokens import Token

# All figures of one pair come from one source, the market's series or the pool's swaps: a day by
# the one against a week by the other would compare two ways of measuring.
Closes = Quantity[tuple[float, ...]]


class MarketCloses(NamedTuple):
    """A pair's hourly prices outside the pool."""

    day: Closes
    week: Closes
    month: Closes


class Movement(Struct, frozen=True):
    volatility: Volatility
    """The step of the ladder that was taken, by the last day."""
    sigma_24h: Quantity[float]
    sigma_7d: Quantity[float]
    sigma_30d: Quantity[float]
    path_efficiency: Quantity[float]
    regime: RegimeReading

    @property
    def estimate(self) -> SigmaEstimate | None:
        """By both windows of the one source; None where σ is assumed."""
        if self.is_assumed:
            return None
        return estimate_sigma(figure(self.sigma_24h), figure(self.sigma_7d))

    @property
    def sigma(self) -> float:
        measured = self.estimate
        if measured is None:
            return significant(self.volatility.daily_sigma)
        return significant(measured.daily_sigma)

    @property
    def is_assumed(self) -> bool:
        return self.volatility.step is VolatilityStep.ASSUMED

    @property
    def sigma_source(self) -> str:
        """Who said it, and over which windows; what covers the week covers its last day."""
        measured = self.estimate
        if measured is None:
            return self.volatility.source
        week = self.sigma_7d
        source = week.source if isinstance(week, Known) else self.volatility.source
        return f"{source}, {measured.windows}"

    @property
    def source(self) -> str:
        """Why no better step of the ladder was taken stands beside the one that was."""
        passed_over = self.volatility.passed_over
        return self.sigma_source + (f" ({'; '.join(passed_over)})" if passed_over else "")


async def read_market_closes(
    coingecko: CoinGecko | None, network: Network, key: PoolKey, *, now: float
) -> MarketCloses:
    """The market's own series; a reason names no token, since names are a stranger's words."""
    if coingecko is None:
        switched_off = Unknown("market data is switched off")
        return MarketCloses(switched_off, switched_off, switched_off)
    spans = [
        await market_closes(coingecko, network, key.currency0, key.currency1, hours=hours, now=now)
        for hours in (DAY, WEEK, MONTH)
    ]
    return MarketCloses(*map(_namelessly, spans))


def movement(market: MarketCloses, path: PricePath, pair: PairClass) -> Movement:
    best = volatility(market.day, path, pair)
    if best.step is VolatilityStep.MARKET:
        day: Quantity[float] = Known(best.daily_sigma, best.source, time=best.time)
        week, month = _by_market(market.week, pair, WEEK), _by_market(market.month, pair, MONTH)
        efficiency: Quantity[float] = Unknown("the market did not move")
        if best.path_efficiency is not None:
            efficiency = Known(best.path_efficiency, best.source, time=best.time)
    else:
        day, week, month = (realised_volatility(path, hours) for hours in (DAY, WEEK, MONTH))
        efficiency = path_efficiency(path, DAY)
    return Movement(best, day, week, month, efficiency, _regime(best, day, week, efficiency))


def _by_market(closes: Closes, pair: PairClass, hours: int) -> Quantity[float]:
    found = volatility(closes, None, pair, hours=hours)
    if found.step is VolatilityStep.MARKET:
        return Known(found.daily_sigma, found.source, time=found.time)
    return Unknown(f"the market's series does not cover {hours // DAY} days")


def _regime(
    best: Volatility, day: Quantity[float], week: Quantity[float], efficiency: Quantity[float]
) -> RegimeReading:
    measured = figure(day)
    if measured is not None:
        return read_regime(measured, figure(week), figure(efficiency))
    assumed = read_regime(significant(best.daily_sigma), None, None)
    return assumed._replace(reason=f"By an assumption, nothing was measured: {assumed.reason}")


def _namelessly(closes: Closes) -> Closes:
    if isinstance(closes, Unknown):
        return Unknown("the market has no usable series for this pair")
    return closes


class Earnings(NamedTuple):
    fees_24h_usd: Quantity[float]
    """The protocol's share left out."""
    fee_rate_24h: Quantity[float]
    """What a day pays for each dollar of full-range worth, 2·L·√P, in range."""
    fee_rate_7d: Quantity[float]
    edge_7d: Quantity[float]
    """Fees of the week over what arbitrage took from everyone in range."""
    implied_sigma_24h: Quantity[float]
    implied_sigma_7d: Quantity[float]
    spread: FeeSpread


class UnitPrices(NamedTuple):
    """Dollars for the smallest unit of each currency."""

    unit0: Quantity[Fraction]
    unit1: Quantity[Fraction]

    def value(self, paid: SwapFees) -> Quantity[float]:
        """The worth of what providers were paid; a currency of which nothing came needs no price.

        Which of the prices is missing is told where the tokens are.
        """
        nothing = Known(Fraction(0), "nothing paid")
        in0 = self.unit0.map(lambda each: each * paid.providers0) if paid.providers0 else nothing
        in1 = self.unit1.map(lambda each: each * paid.providers1) if paid.providers1 else nothing
        total = combine(lambda one, other: float(one + other), in0, in1)
        return _UNPRICED if isinstance(total, Unknown) else total


_UNPRICED = Unknown("a token's price is unknown")


def earnings(hours: PoolHours, state: PoolState, prices: UnitPrices) -> Earnings:
    """By the swaps of the last day and the hours of the last week."""
    terms = fee_terms(state)
    if hours.unread:
        unread = Unknown(hours.unread)
        return Earnings(unread, unread, unread, unread, unread, unread, fee_spread(()))
    end, day = hours.last, hours.last_day()
    read = (f"{len(day)} pool swaps", end.number, float(end.timestamp))
    worth = prices.value(fees(day, terms))
    rate_24h: Quantity[float] = Known(last_day_rate(hours, terms), *read)
    if not day and state.liquidity == 0:
        rate_24h = Unknown("the pool has no active liquidity")
    week = hour_sums(hours, WEEK)
    rate_7d = week.map(lambda sums: sums.fee_rate * DAY_SECONDS / sums.seconds)
    return Earnings(
        fees_24h_usd=worth if isinstance(worth, Unknown) else Known(worth.value, *read),
        fee_rate_24h=rate_24h,
        fee_rate_7d=rate_7d,
        edge_7d=edge_of(week),
        implied_sigma_24h=rate_24h.map(implied_daily_sigma),
        implied_sigma_7d=rate_7d.map(implied_daily_sigma),
        spread=fee_spread(daily_rates(hours.rows, hours.since, end.timestamp)),
    )


_READ_SECONDS = (WEEK + DAY) * HOUR
"""A week, and a day more so that the week's first hour has a price before it."""


_SWAP_CHANGES_A_SIDE = 100
"""Of a pool that only a swap may go through; one that would cross more is not counted on."""
_UNHOOKED = hook_passport(NO_HOOK, 0)


class SeenPool(Struct, frozen=True):
    state: PoolState
    hook: HookPassport


class PoolReading(Struct, frozen=True):
    """One pool, with all that was read of it."""

    seen: SeenPool
    depth: Depth
    hours: PoolHours
    market: MarketCloses


class PoolReadings(NamedTuple):
    observed: list[PoolReading]
    swap_pools: tuple[ObservedPoolFacts, ...]
    """Others of the same pairs that a swap may go through."""


class SourcedPoolFacts(NamedTuple):
    """Facts of a pool, and who said each group of them."""

    pool: ObservedPool
    sources: dict[str, str]


async def read_pools(
    sources: Sources,
    block: Block,
    seen: Sequence[SeenPool],
    beside: Iterable[PoolState],
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> PoolReadings:
    """All of these pools, whose states were read at this block."""
    here = OneBlock(sources.client, sources.network, block.hash)
    states = [seen_pool.state for seen_pool in seen]
    others = [state for state in beside if state.liquidity]
    depths, hours, markets = await asyncio.gather(
        read_depths(here, sources.network, [*states, *others], reach=REACH),
        _read_week(sources, block, states, watch),
        _read_markets(sources, states),
    )
    return PoolReadings(
        [
            PoolReading(seen_pool, depths[pool], hours[pool], markets[pool])
            for seen_pool, pool in ((seen_pool, seen_pool.state.pool_id) for seen_pool in seen)
        ],
        tuple(
            pool_facts(nearest_changes(depths[state.pool_id], _SWAP_CHANGES_A_SIDE), _UNHOOKED)
            for state in others
        ),
    )


def swap_pools(network: Network, keys: Iterable[PoolKey]) -> tuple[PoolKey, ...]:
    """The usual pools of the same pairs and protocols that are not among these."""
    observed = dict.fromkeys(keys)
    pairs = dict.fromkeys((key.protocol, key.currency0, key.currency1) for key in observed)
    return tuple(
        key
        for protocol, *pair in pairs
        for key in protocol_named(protocol).candidates(network, pair)
        if key not in observed
    )


def observed_pool(
    network: Network,
    reading: PoolReading,
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    most_steps: int = MOST_STEPS,
) -> SourcedPoolFacts:
    seen, block = reading.seen, reading.hours.last
    key = seen.state.key
    token0 = valued_token(network, tokens[key.currency0], prices)
    token1 = valued_token(network, tokens[key.currency1], prices)
    path = price_path(reading.hours)
    moved = movement(reading.market, path, class_of(network, key.currency0, key.currency1))
    units = UnitPrices(token0.usd_per_unit, token1.usd_per_unit)
    earned = earnings(reading.hours, seen.state, units)
    market = MarketFacts(
        sigma=moved.sigma,
        sigma_source=moved.sigma_source,
        sigma_assumed=moved.is_assumed,
        sigma_24h=figure(moved.sigma_24h),
        sigma_7d=figure(moved.sigma_7d),
        sigma_30d=figure(moved.sigma_30d),
        path_efficiency=figure(moved.path_efficiency),
        fees_24h_usd=figure(earned.fees_24h_usd),
        implied_sigma_24h=figure(earned.implied_sigma_24h),
        implied_sigma_7d=figure(earned.implied_sigma_7d),
        fee_rate_24h=figure(earned.fee_rate_24h),
        fee_rate_7d=figure(earned.fee_rate_7d),
        edge_7d=figure(earned.edge_7d),
        fee_low_factor=significant(earned.spread.low),
        fee_high_factor=significant(earned.spread.high),
        week_low_factor=significant(earned.spread.week_low),
        week_high_factor=significant(earned.spread.week_high),
    )
    terms = fee_terms(seen.state)
    observed = ObservedPool(
        token0=token0.facts,
        token1=token1.facts,
        pool=pool_facts(reading.depth, seen.hook),
        market=market,
        regime=moved.regime.regime,
        regime_reason=moved.regime.reason,
        day_path=day_path(reading.hours, terms, seen.state.sqrt_price_x96, most_steps),
        week_path=week_path(reading.hours, seen.state.sqrt_price_x96),
    )
    told_by, _ = row_named(protocol_of_pool(seen.state.pool_id).name).contracts
    told = {
        "pool": f"{told_by}, block {block.number}",
        "hook": f"code at its address, block {block.number}" if seen.hook.present else "no hook",
        "price of token0": source_words(token0.usd_per_unit),
        "price of token1": source_words(token1.usd_per_unit),
        "volatility": moved.source,
        "volatility of 24 h": source_words(moved.sigma_24h),
        "volatility of 7 d": source_words(moved.sigma_7d),
        "volatility of 30 d": source_words(moved.sigma_30d),
        "path efficiency": source_words(moved.path_efficiency),
        "fees of 24 h": source_words(earned.fees_24h_usd),
        "implied volatility of 24 h": source_words(earned.implied_sigma_24h),
        "implied volatility of 7 d": source_words(earned.implied_sigma_7d),
        "fee rate of 24 h": source_words(earned.fee_rate_24h),
        "fee rate of 7 d": source_words(earned.fee_rate_7d),
        "edge of 7 d": source_words(earned.edge_7d),
        "spread of daily fees": earned.spread.source,
    }
    return SourcedPoolFacts(observed, told)


async def _read_week(
    sources: Sources,
    block: Block,
    states: Sequence[PoolState],
    watch: Callable[[ScanProgress], None],
) -> dict[PoolId, PoolHours]:
    return await read_given_hours(
        sources.client,
        sources.network,
        {state.pool_id: fee_terms(state) for state in states},
        _READ_SECONDS,
        memory=HourMemory(sources.store, sources.network, sources.clock),
        head=block,
        watch=watch,
    )


async def _read_markets(
    sources: Sources, states: Sequence[PoolState]
) -> dict[PoolId, MarketCloses]:
    """One pool after the other, because a coin that was just asked for is not asked for again."""
    now = sources.clock()
    return {
        state.pool_id: await read_market_closes(
            sources.coingecko, sources.network, state.key, now=now
        )
        for state in states
    }
