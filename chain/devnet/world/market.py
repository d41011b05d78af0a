"""The market: traders whose swaps keep every pool near the outside price, and the crowd between.

Arbitrage trades whatever pays after the fee, no more; it is what liquidity providers lose to. The
crowd trades for its own reasons, out and back, and its fees are what they earn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from chain.base.units import DAY, HOUR
from chain.contracts.abi import encode_call
from chain.contracts.calldata import SwapExactIn, execute, swap_exact_in
from chain.contracts.networks import NATIVE
from chain.devnet.world.accounts import ARBITRAGEUR, CROWD, KEEPER
from chain.devnet.world.deployment import CONTRACTS, GENESIS_TIME, UNIVERSAL_ROUTER
from chain.devnet.world.hook_code import FEE_STEWARD, UPDATE_FEE
from chain.devnet.world.phases import Mood, Phase
from chain.devnet.world.pool_walk import PoolPoint, read_point, walk_to
from chain.devnet.world.pools import DYNAMIC, POOLS, DevnetPool
from chain.devnet.world.price_path import MILLITICKS, sqrt_price_at
from chain.devnet.world.writing import Intent
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address
    from chain.devnet.world.accounts import Account
    from chain.devnet.world.pool_walk import ReadWord, Walk
    from chain.devnet.world.price_path import Asset, SeededPath


class Storage(Protocol):
    """What the market needs of a block's state."""

    def storage(self, address: Address, slot: int) -> int: ...


MARKET_OPENS = GENESIS_TIME + HOUR
MINUTE = 60
WEEK = 7 * DAY
HISTORY_ENDS = MARKET_OPENS + WEEK

STEWARD_FEES = {Mood.CALM: 1000, Mood.TREND: 3000, Mood.SHOCK: 10_000}
"""What the dynamic-fee pool charges, in pips, by the market's mood."""

# A tick is a hundred pips, so a fee of one pip is a band of ten milliticks.
_MILLITICKS_PER_PIP = 10
_LARGEST_SLACK = 6 * MILLITICKS
_DEADLINE_SECONDS = HOUR
_SWAP_GAS = 600_000


class MarketVisit(Struct, frozen=True):
    """A moment of trading: one pool gets its crowd, and arbitrage looks at all of them."""

    index: int
    time: int
    reach: int
    """How much farther than usual the crowd pushes where it comes seldom, in percent."""


class PlannedSwap(Struct, frozen=True):
    trader: Account
    pool: DevnetPool
    start: PoolPoint
    walk: Walk
    deadline: int

    @property
    def intent(self) -> Intent:
        key, walk = self.pool.key, self.walk
        # Nobody on this chain reorders swaps, so its traders need no protection from that.
        swap = SwapExactIn(key, walk.zero_for_one, walk.amount_in, amount_out_minimum=0)
        pays_ether = walk.zero_for_one and key.currency0 == NATIVE
        return Intent(
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
    def intents(self) -> list[Intent]:
        swaps = [swap.intent for swap in self.swaps]
        if self.new_fee is None:
            return swaps
        data = encode_call(UPDATE_FEE, DYNAMIC.key.values, self.new_fee)
        return [Intent(KEEPER, FEE_STEWARD, data), *swaps]


class SimulatedMarket(Struct, frozen=True):
    path: SeededPath

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
        groups += [floor.arbitrage(pool) for pool in floor.by_misprice(but=chosen)]
        swaps: list[PlannedSwap] = []
        for group in groups:
            # A crowd that went out must come back, so a group is sent whole or not at all.
            if most_swaps is not None and len(swaps) + len(group) > most_swaps:
                break
            swaps += group
        return MarketRound(self._new_fee(state, visit.time), tuple(swaps))

    def closing(self, state: Storage, time: int) -> MarketRound:
        """Arbitrage in every pool, so that all agree on the price."""
        floor = Floor(state, self.prices(time), time)
        swaps = [swap for pool in POOLS for swap in floor.arbitrage(pool, eager=True)]
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
        draws, index = self.path.draws, visit.index
        milliticks = pool.crowd.ticks * visit.reach * MILLITICKS // 100
        reach = draws.between(milliticks // 2, milliticks * 3 // 2, "crowd reach", index)
        start = floor.milliticks(pool)
        first, second = (
            CROWD[(draws.below(len(CROWD), "crowd", index) + offset) % len(CROWD)]
            for offset in range(2)
        )
        rest = draws.between(-reach // 8, reach // 8, "crowd rest", index)
        return [
            *floor.trade(first, pool, start + draws.sign("crowd side", index) * reach),
            *floor.trade(second, pool, floor.settled(pool, start + rest)),
        ]


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

    def settled(self, pool: DevnetPool, milliticks: int) -> int:
        """The nearest price that no arbitrage would move."""
        market = pool.milliticks(self._prices)
        point = self.point(pool)
        above = point.fee(zero_for_one=True) * _MILLITICKS_PER_PIP
        below = point.fee(zero_for_one=False) * _MILLITICKS_PER_PIP
        return min(max(milliticks, market - below), market + above)

    def gain(self, pool: DevnetPool) -> int:
        """How far beyond the fee the pool's price is off, in milliticks."""
        here = self.milliticks(pool)
        return abs(self.settled(pool, here) - here)

    def by_misprice(self, *, but: DevnetPool) -> list[DevnetPool]:
        return sorted((pool for pool in POOLS if pool is not but), key=self.gain, reverse=True)

    def arbitrage(self, pool: DevnetPool, *, eager: bool = False) -> list[PlannedSwap]:
        """The trade that pays after the fee, if any; an eager one, however little it pays."""
        here = self.milliticks(pool)
        goal = self.settled(pool, here)
        band = self.point(pool).fee(zero_for_one=goal < here) * _MILLITICKS_PER_PIP
        # Arbitrage does not get up for less than four fifths of the fee, or six ticks.
        worthwhile = abs(goal - here) >= min(band * 4 // 5, _LARGEST_SLACK)
        if goal == here or not (worthwhile or eager):
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


def reader(state: Storage) -> ReadWord:
    return lambda slot: state.storage(CONTRACTS.pool_manager, slot)


def point_of(state: Storage, pool: DevnetPool) -> PoolPoint:
    return read_point(reader(state), pool.key.pool_id, pool.tick_spacing)
