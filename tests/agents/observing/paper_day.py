"""A day of trading on paper, observed before it comes and counted after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.observe.movement import MarketCloses
from agents.lp.observe.pool_reading import PoolReading, SeenPool, observed_pool
from agents.numbers.edges import TickRange, price_tick
from agents.numbers.fees import full_range_value
from agents.numbers.outlook import PoolMarket as Surroundings
from agents.numbers.outlook import Stake, look_at
from chain.base.quantity import Unknown
from chain.contracts.hooks import hook_passport
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.draws import Draws
from chain.devnet.world.market import HISTORY_ENDS, MARKET_OPENS, MINUTE, SimulatedMarket
from chain.devnet.world.phases import Calendar, Mood, Phase
from chain.devnet.world.pools import (
    DYNAMIC,
    ETH_USDC,
    GUARDED,
    POOLS,
    SLEEPY,
    STABLE,
    USDC_WBTC,
    WETH_USDC,
    WETH_USDC_LOW,
)
from chain.devnet.world.price_path import SeededPath
from chain.devnet.world.visits import live_visits
from chain.history.events import LogPlace, SwapEvent
from chain.history.flows import FeeTerms
from chain.history.hours import pool_hours, recent_swap
from chain.history.ranges import LiquidityRange, range_fees
from chain.math.fees import unpack_protocol_fee
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick
from chain.pools.depth import Depth
from chain.pools.state import PoolState, pool_state_slots, pool_states
from chain.prices.ladder import price_book
from chain.prices.pool_prices import prices_from_pools
from chain.rpc.records import Block
from chain.tokens import listed_token
from tests.chain.devnet.paper_market import PaperState
from tests.chain.history.all_swaps import TimedSwap

if TYPE_CHECKING:
    from agents.lp.facts import ObservedPool
    from chain.devnet.world.market import PlannedSwap, Storage
    from chain.devnet.world.pools import DevnetPool

DEVNET = network_named("devnet")
DAY = 24 * 3600
SETTLED = 2 * 3600
"""What arbitrage takes to bring the pools' opening prices to where the path has gone."""
_NO_MARKET = MarketCloses(Unknown("no market"), Unknown("no market"))


class Shape(NamedTuple):
    name: str
    pool: DevnetPool
    below: int
    above: int


SHAPES = (
    Shape("healthy", WETH_USDC_LOW, 900, 800),
    Shape("plain", WETH_USDC, 900, 900),
    Shape("native", ETH_USDC, 1200, 1400),
    Shape("dynamic fee", DYNAMIC, 1500, 1500),
    Shape("stable", STABLE, 10, 10),
    Shape("hooked", GUARDED, 1500, 1300),
    Shape("underpaid", SLEEPY, 240, 240),
    Shape("given", USDC_WBTC, 1200, 1200),
)
"""The demo wallet's ranges, one in every pool."""


class CalmFromNow(Calendar):
    """A market whose mood no longer changes, to tell what a forecast's error owes to moods."""

    def at(self, minute: int) -> Phase:
        now = (HISTORY_ENDS - MARKET_OPENS) // MINUTE
        return super().at(minute) if minute < now else Phase(Mood.CALM, now, minute, 1)


@dataclass
class PaperMarket:
    market: SimulatedMarket
    state: PaperState
    swaps: dict[str, list[TimedSwap]] = field(
        default_factory=lambda: {pool.key.pool_id: [] for pool in POOLS}
    )

    @classmethod
    def of(cls, seed: int, founded: Storage, *, calm: bool) -> PaperMarket:
        draws = Draws(seed)
        calendar = CalmFromNow(draws) if calm else Calendar(draws)
        return cls(SimulatedMarket(SeededPath(draws, calendar)), PaperState(founded))

    def trade(self, after: int, until: int) -> None:
        """Everything the live market does between two times."""
        for visit in live_visits(self.market, after):
            if visit.time > until:
                return
            round_ = self.market.round(self.state, visit)
            self.state.carry_out(round_)
            for swap in round_.swaps:
                self.swaps[swap.walk.end.pool_id].append(_event(swap, visit.time))

    def observed(self, pool: DevnetPool, time: int) -> ObservedPool:
        """What Scout would say of a pool now, from all that happened before."""
        states = [self.pool_state(one) for one in POOLS]
        state = states[POOLS.index(pool)]
        block = Block(1, "0x" + "11" * 32, "0x" + "22" * 32, time, 0, 0, 30_000_000)
        key = state.key
        tokens = {}
        for address in (key.currency0, key.currency1):
            listed = listed_token(DEVNET, address)
            assert listed is not None
            tokens[address] = listed.token
        swaps = [
            recent_swap(one.swap, one.time, estimated=False) for one in self.swaps[state.pool_id]
        ]
        reading = PoolReading(
            SeenPool(state, hook_passport(key.hooks, key.fee)),
            Depth(state, (), state.tick - 1, state.tick + 1),
            pool_hours(state.pool_id, 0, block, swaps, FeeTerms(key.fee, state.protocol_fee)),
            _NO_MARKET,
        )
        nearby = {one.pool_id: one.virtual_depth() for one in states}
        prices = price_book(DEVNET, {}, prices_from_pools(DEVNET, tokens, states, nearby, block))
        return observed_pool(DEVNET, reading, tokens, prices).pool

    def since(self, observed: ObservedPool, swaps_before: int) -> list[SwapEvent]:
        """The swaps after the first so many, and the last of these."""
        timed = self.swaps[observed.pool.pool_id][swaps_before - 1 :]
        return [one.swap for one in timed]

    def pool_state(self, pool: DevnetPool) -> PoolState:
        slots = pool_state_slots([pool.key])
        words = {slot: self.state.storage(CONTRACTS.pool_manager, slot) for slot in slots}
        (state,) = pool_states([pool.key], words)
        return state


@dataclass(frozen=True)
class Forecast:
    name: str
    expected: float
    paid: float

    @property
    def error(self) -> float:
        return self.expected / self.paid - 1


@dataclass(frozen=True)
class _Held:
    """A range in a pool, with a small part of what is active there."""

    shape: Shape
    observed: ObservedPool
    stake: Stake
    swaps_before: int


def forecasts(seed: int, founded: Storage, *, calm: bool) -> list[Forecast]:
    """The next day of each shape, from the first calm hour after a day of trading."""
    paper = PaperMarket.of(seed, founded, calm=calm)
    start = HISTORY_ENDS + SETTLED + DAY
    while paper.market.phase(start).mood is not Mood.CALM:
        start += 3600
    paper.trade(HISTORY_ENDS, start)
    held = [_hold(paper, shape, start) for shape in SHAPES]
    paper.trade(start, start + DAY)
    return [
        Forecast(
            one.shape.name,
            expected_fees(one.observed, one.stake),
            fees_paid(one.observed, one.stake, paper.since(one.observed, one.swaps_before)),
        )
        for one in held
    ]


def fees_paid(observed: ObservedPool, stake: Stake, swaps: list[SwapEvent]) -> float:
    """What swaps paid a stake, at observed prices; the first says where the price began."""
    pool, ticks = observed.pool, stake.ticks
    held = LiquidityRange(
        sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper), stake.liquidity
    )
    terms = FeeTerms(pool.fee, unpack_protocol_fee(pool.protocol_fee))
    earned = range_fees(swaps, held, terms, included=True)
    unit0, unit1 = observed.token0.usd_per_unit, observed.token1.usd_per_unit
    assert unit0 is not None
    assert unit1 is not None
    return earned.fees0 * unit0 + earned.fees1 * unit1


def expected_fees(observed: ObservedPool, stake: Stake) -> float:
    """The 24 h fee yield of a stake that is part of the active liquidity, in dollars."""
    pool, market = observed.pool, observed.market
    price, unit1 = price_tick(pool.sqrt_price_x96), observed.token1.usd_per_unit
    assert unit1 is not None
    assert market.fees_24h_usd is not None
    worth = full_range_value(pool.liquidity, price, unit1)
    outlook = look_at(
        Surroundings(
            price=price,
            daily_sigma=market.sigma,
            edge_7d=None,
            fee_rate_7d=market.fees_24h_usd / worth,
            active_worth=worth,
            others_worth=worth - full_range_value(stake.liquidity, price, unit1),
            unit1_value=unit1,
        ),
        stake,
    )
    assert outlook.fee_24h is not None
    return outlook.fee_24h


def _hold(paper: PaperMarket, shape: Shape, time: int) -> _Held:
    observed = paper.observed(shape.pool, time)
    pool = observed.pool
    ticks = TickRange(
        nearest_usable_tick(pool.tick - shape.below, pool.tick_spacing),
        nearest_usable_tick(pool.tick + shape.above, pool.tick_spacing),
    )
    stake = Stake(ticks, pool.liquidity // 200)
    return _Held(shape, observed, stake, len(paper.swaps[pool.pool_id]))


def _event(swap: PlannedSwap, time: int) -> TimedSwap:
    walk, end = swap.walk, swap.walk.end
    paid, got = -walk.amount_in, walk.amount_out
    event = SwapEvent(
        place=LogPlace(0, 0, "0x", "0x"),
        pool_id=end.pool_id,
        sender=swap.trader.address,
        amount0=paid if walk.zero_for_one else got,
        amount1=got if walk.zero_for_one else paid,
        sqrt_price_x96=end.sqrt_price_x96,
        liquidity=end.liquidity,
        tick=end.tick,
        fee=swap.start.fee(zero_for_one=walk.zero_for_one),
    )
    return TimedSwap(event, time)
