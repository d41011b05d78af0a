"""The market: when its traders come, and the swaps that keep every pool near the outside price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, pairwise
from typing import NamedTuple, Protocol

from msgspec import Struct

from chain.base.units import DAY, HOUR
from chain.contracts.abi import encode_call
from chain.contracts.calldata import SwapExactIn, execute, swap_exact_in
from chain.contracts.networks import NATIVE, Address
from chain.contracts.storage import pool_slots
from chain.devnet.world.accounts import ARBITRAGEUR, CROWD, KEEPER, Account
from chain.devnet.world.deployment import (
    CONTRACTS,
    FEE_STEWARD,
    GENESIS_TIME,
    UNIVERSAL_ROUTER,
    UPDATE_FEE,
)
from chain.devnet.world.pools import (
    DYNAMIC,
    POOLS,
    WETH_USDC,
    DevnetPool,
    PoolPoint,
    ReadWord,
    Walk,
    read_point,
    walk_to,
)
from chain.devnet.world.price_path import (
    MILLITICKS,
    OPENING,
    Asset,
    Mood,
    Phase,
    SeededPath,
    sqrt_price_at,
)
from chain.devnet.world.writing import UnsignedCall
from chain.math.ticks import sqrt_price_at_tick


# Arbitrage trades whatever pays after the fee, no more; it is what liquidity providers lose to.
# The crowd trades for its own reasons, out and back, and its fees are what they earn: on a day on
# which prices move more it trades more, so that each pool pays its own multiple of what movement
# takes.
class Storage(Protocol):
    """What the market needs of a block's state."""

    def storage(self, address: Address, slot: int) -> int: ...


MARKET_OPENS = GENESIS_TIME + HOUR
MINUTE = 60
WEEK = 7 * DAY
HISTORY_ENDS = MARKET_OPENS + WEEK
DENSE_BEGINS = HISTORY_ENDS - DAY

STEWARD_FEES = {Mood.CALM: 1000, Mood.TREND: 3000, Mood.SHOCK: 10_000}
"""What the dynamic-fee pool charges, in pips, by the market's mood."""

_SQUARED_MILLITICKS = 10**14
"""In one whole, since a millitick is a ten-millionth of the price."""

# A tick is a hundred pips, so a fee of one pip is a band of ten milliticks.
_MILLITICKS_PER_PIP = 10
_DEADLINE_SECONDS = HOUR
_MOST_CROSSINGS = 4
_SWAP_GAS = 600_000


class MarketVisit(Struct, frozen=True):
    """A moment of trading: one pool gets its crowd, and arbitrage looks at all of them."""

    index: int
    time: int
    left: int
    """Visits until the market's day is over, this one among them."""
    largest_reach: int
    """How far the crowd pushes at most, in ticks: where it comes seldom it trades more at once."""


class PlannedSwap(Struct, frozen=True):
    trader: Account
    pool: DevnetPool
    start: PoolPoint
    walk: Walk
    deadline: int

    @property
    def intent(self) -> UnsignedCall:
        key, walk = self.pool.key, self.walk
        # Nobody on this chain reorders swaps, so its traders need no protection from that.
        swap = SwapExactIn(key, walk.zero_for_one, walk.amount_in, amount_out_minimum=0)
        pays_ether = walk.zero_for_one and key.currency0 == NATIVE
        return UnsignedCall(
            self.trader,
            UNIVERSAL_ROUTER,
            execute([swap_exact_in(swap)], self.deadline),
            value=walk.amount_in if pays_ether else 0,
            gas=_SWAP_GAS,
        )


class MarketRound(Struct, frozen=True):
    """What a visit sends: a new dynamic fee if one is due, then swaps."""

    new_fee: int | None
    swaps: tuple[PlannedSwap, ...]

    @property
    def intents(self) -> list[UnsignedCall]:
        swaps = [swap.intent for swap in self.swaps]
        if self.new_fee is None:
            return swaps
        data = encode_call(UPDATE_FEE, DYNAMIC.key.values, self.new_fee)
        return [UnsignedCall(KEEPER, FEE_STEWARD, data), *swaps]


class SimulatedMarket(Struct, frozen=True):
    path: SeededPath
    sparse_seconds: int = HOUR
    """How seldom the pools traded before the last day of history."""

    def minute(self, time: int) -> int:
        return max((time - MARKET_OPENS) // MINUTE, 0)

    def prices(self, time: int) -> dict[Asset, int]:
        return self.path.at(self.minute(time))

    def phase(self, time: int) -> Phase:
        return self.path.phase_at(self.minute(time))

    def opening(self, state: Storage, time: int) -> MarketRound:
        """The fee of the dynamic pool alone, before anybody trades."""
        return MarketRound(self._new_fee(state, time), ())

    def round(
        self, state: Storage, visit: MarketVisit, *, most_swaps: int | None = None
    ) -> MarketRound:
        """The transactions of one visit, planned on the state the head left."""
        floor = Floor(state, self.prices(visit.time), visit.time)
        chosen = self._chosen_pool(visit.index)
        groups = [floor.arbitrage(chosen), self._crowd(floor, chosen, visit)]
        groups += [floor.arbitrage(pool) for pool in floor.by_gain(but=chosen)]
        if visit.index == 0:
            # A pool that nobody has traded in yet has no price history: each gets one small trade.
            groups += [
                floor.trade(CROWD[0], pool, floor.milliticks(pool) + MILLITICKS) for pool in POOLS
            ]
        swaps: list[PlannedSwap] = []
        for group in groups:
            # A crowd that went out must come back, so a group is sent whole or not at all.
            if most_swaps is not None and len(swaps) + len(group) > most_swaps:
                break
            swaps += group
        return MarketRound(self._new_fee(state, visit.time), tuple(swaps))

    def closing_round(
        self, state: Storage, time: int, pools: tuple[DevnetPool, ...] = POOLS
    ) -> MarketRound:
        """Arbitrage in these pools, so that they agree with the market on the price."""
        floor = Floor(state, self.prices(time), time)
        swaps = [swap for pool in pools for swap in floor.arbitrage(pool, eager=True)]
        return MarketRound(None, tuple(swaps))

    def _new_fee(self, state: Storage, time: int) -> int | None:
        wanted = STEWARD_FEES[self.phase(time).mood]
        return None if point_of(state, DYNAMIC).lp_fee == wanted else wanted

    def _chosen_pool(self, index: int) -> DevnetPool:
        ticket = self.path.draws.below(sum(pool.crowd.weight for pool in POOLS), "pool", index)
        for pool in POOLS:
            ticket -= pool.crowd.weight
            if ticket < 0:
                return pool
        raise AssertionError("the weights cover every ticket")

    def _crowd(self, floor: Floor, pool: DevnetPool, visit: MarketVisit) -> list[PlannedSwap]:
        """Out to one side, across to the other as often as it takes, and back."""
        draws, index = self.path.draws, visit.index
        due, most = self._due(floor, pool, visit), visit.largest_reach * MILLITICKS
        crossings = min(max(-(-due // (2 * most)) - 1, 1), _MOST_CROSSINGS)
        usual = min(due // (2 + 2 * crossings), most)
        if not usual:
            return []
        reach = draws.between(usual // 2, usual * 3 // 2, "crowd reach", index)
        start, outward = floor.milliticks(pool), draws.sign("crowd side", index) * reach
        rest = draws.between(-reach // 8, reach // 8, "crowd rest", index)
        goals = [start + outward * (-1) ** leg for leg in range(1 + crossings)]
        first = draws.below(len(CROWD), "crowd", index)
        return [
            swap
            for leg, goal in enumerate((*goals, floor.settled_price(pool, start + rest)))
            for swap in floor.trade(CROWD[(first + leg) % len(CROWD)], pool, goal)
        ]

    def _due(self, floor: Floor, pool: DevnetPool, visit: MarketVisit) -> int:
        """How far the crowd pushes the price, so that the day's fees become what they should be.

        On the worth of a full range, a swap that moves the price by a fraction pays a quarter of
        that fraction of its fee, and movement takes an eighth of the fraction's square.
        """
        day_over = MARKET_OPENS + -(-(visit.time - MARKET_OPENS) // DAY) * DAY
        due = self.risk(pool, day_over) * pool.crowd.pays // 100 - floor.fees_paid(pool)
        visits = max(visit.left * pool.crowd.weight // 100, 1)
        return max(due * 2 // (5 * floor.point(pool).lp_fee * visits), 0)

    def risk(self, pool: DevnetPool, time: int) -> int:
        """What movement took by then: an eighth of the squares of the hourly returns."""
        sparse = range(MARKET_OPENS, min(time + 1, DENSE_BEGINS), self.sparse_seconds)
        hours = (*sparse, *range(DENSE_BEGINS, time + 1, HOUR))
        closes = [pool.milliticks(self.prices(hour - 1)) for hour in hours]
        return sum((after - before) ** 2 for before, after in pairwise(closes)) // 8


class Floor:
    """The pools during one visit: trades planned earlier are seen by those planned after."""

    def __init__(self, state: Storage, prices: Mapping[Asset, int], time: int) -> None:
        self._state = state
        self._read = reader(state)
        self._prices = prices
        self._deadline = time + _DEADLINE_SECONDS
        self._points: dict[DevnetPool, PoolPoint] = {}

    def point(self, pool: DevnetPool) -> PoolPoint:
        if pool not in self._points:
            self._points[pool] = point_of(self._state, pool)
        return self._points[pool]

    def milliticks(self, pool: DevnetPool) -> int:
        """The pool's price between ticks, the inverse of `sqrt_price_at`."""
        point = self.point(pool)
        lower = sqrt_price_at_tick(point.tick)
        part = (point.sqrt_price_x96 - lower) * MILLITICKS
        return point.tick * MILLITICKS + part // (sqrt_price_at_tick(point.tick + 1) - lower)

    def settled_price(self, pool: DevnetPool, milliticks: int) -> int:
        """The nearest price that no arbitrage would move."""
        market = pool.milliticks(self._prices)
        point = self.point(pool)
        above = point.fee(zero_for_one=True) * _MILLITICKS_PER_PIP
        below = point.fee(zero_for_one=False) * _MILLITICKS_PER_PIP
        return min(max(milliticks, market - below), market + above)

    def gain(self, pool: DevnetPool) -> int:
        """What arbitrage earns there, by how far beyond the fee the price is off and by depth."""
        here = self.milliticks(pool)
        return int((self.settled_price(pool, here) - here) ** 2 * pool.depth)

    def fees_paid(self, pool: DevnetPool) -> int:
        """Fees so far on what a full range is worth, in the squared milliticks of `risk`."""
        slots = pool_slots(pool.key.pool_id)
        growth0, growth1 = slots.fee_growth_global0, slots.fee_growth_global1
        return growth_paid(pool, self._read(growth0), self._read(growth1))

    def by_gain(self, *, but: DevnetPool) -> list[DevnetPool]:
        return sorted((pool for pool in POOLS if pool is not but), key=self.gain, reverse=True)

    def arbitrage(self, pool: DevnetPool, *, eager: bool = False) -> list[PlannedSwap]:
        """The trade that pays after the fee, if any; an eager one, however little it pays."""
        here = self.milliticks(pool)
        goal = self.settled_price(pool, here)
        if goal == here or not (eager or abs(goal - here) >= pool.slack):
            return []
        return self.trade(ARBITRAGEUR, pool, goal)

    def trade(self, trader: Account, pool: DevnetPool, milliticks: int) -> list[PlannedSwap]:
        """The swap that carries a pool to this price, or none where it already stands there."""
        start = self.point(pool)
        walk = walk_to(self._read, start, sqrt_price_at(milliticks))
        if walk.amount_in == 0:
            return []
        self._points[pool] = walk.end
        return [PlannedSwap(trader, pool, start, walk, self._deadline)]


def growth_paid(pool: DevnetPool, growth0: int, growth1: int) -> int:
    """What liquidity was paid, in the squared milliticks of `risk`."""
    root = sqrt_price_at(pool.milliticks(OPENING))
    # Fees come in both tokens alike, so the price they are valued at hardly matters.
    growth = (growth0 * root >> 96) + (growth1 << 96) // root
    return growth * _SQUARED_MILLITICKS >> 129


def reader(state: Storage) -> ReadWord:
    return lambda slot: state.storage(CONTRACTS.pool_manager, slot)


def point_of(state: Storage, pool: DevnetPool) -> PoolPoint:
    return read_point(reader(state), pool.key.pool_id, pool.tick_spacing)


LIVE_BEAT = 120
_CALM_BEATS = 3
"""Live, the market trades on every third beat, and on every beat of a shock."""

_LIVE_INDEX = 1_000_000
"""Live visits are numbered from here, so that both sizes of history lead to the same market."""


class HistorySize(Struct, frozen=True):
    sparse_seconds: int
    """Between two visits of the first six days."""
    dense_seconds: int
    most_swaps: int
    largest_reach: int
    """How far the crowd pushes at most, in ticks: fewer trades are larger ones."""


WEEK_SIZE = HistorySize(
    sparse_seconds=HOUR, dense_seconds=HOUR // 4, most_swaps=1_200, largest_reach=120
)
SMALL_SIZE = HistorySize(
    sparse_seconds=6 * HOUR, dense_seconds=HOUR, most_swaps=340, largest_reach=500
)


def history_visits(size: HistorySize) -> list[MarketVisit]:
    times = [
        *_beats(MARKET_OPENS, DENSE_BEGINS, size.sparse_seconds),
        *_beats(DENSE_BEGINS, HISTORY_ENDS, size.dense_seconds),
    ]
    days = [(time - MARKET_OPENS) // DAY for time in times]
    return [
        MarketVisit(index, time, days[index:].count(days[index]), size.largest_reach)
        for index, time in enumerate(times)
    ]


class MarketClosing(NamedTuple):
    """When pools are brought to the market's price, however little it pays."""

    time: int
    pools: tuple[DevnetPool, ...]


def market_closings(market: SimulatedMarket) -> list[MarketClosing]:
    """The extremes, in the pool where the demo wallet's ranges wait for them; and the end."""
    minutes = sorted(market.path.early_extremes())
    extremes = [MarketClosing(MARKET_OPENS + minute * MINUTE, (WETH_USDC,)) for minute in minutes]
    return [*extremes, MarketClosing(HISTORY_ENDS, POOLS)]


def live_visits(market: SimulatedMarket, after: int) -> Iterator[MarketVisit]:
    """The visits later than a time, for ever."""
    for number in count(max((after - HISTORY_ENDS) // LIVE_BEAT, 0)):
        time = HISTORY_ENDS + (number + 1) * LIVE_BEAT - 1 - _off_beat(number, LIVE_BEAT)
        due = (number + 1) % _CALM_BEATS == 0 or market.phase(time).mood is Mood.SHOCK
        if time > after and due:
            left = 1 + (HISTORY_ENDS - time) % DAY // (_CALM_BEATS * LIVE_BEAT)
            yield MarketVisit(_LIVE_INDEX + number, time, left, WEEK_SIZE.largest_reach)


def _beats(start: int, end: int, interval: int) -> list[int]:
    """A time within the last minute of each interval, so that an hour closes near the market."""
    ends = range(start + interval, end + 1, interval)
    return [over - 1 - _off_beat(number, MINUTE) for number, over in enumerate(ends)]


def _off_beat(number: int, interval: int) -> int:
    """Up to half an interval, by the golden ratio: irregular to the eye, never colliding."""
    return number * 618_034 % 1_000_000 * interval // 2_000_000
