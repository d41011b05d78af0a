"""The market run on paper: the same plans, carried out on storage words instead of contracts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chain.contracts.storage import pool_slots
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.pools import DYNAMIC, POOLS, DevnetPool
from chain.devnet.world.visits import WEEK_SIZE, closing_times, history_visits
from chain.devnet.world.worlds import SwapBudget

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.devnet.world.market import MarketRound, PlannedSwap, SimulatedMarket, Storage
    from chain.devnet.world.phases import Mood
    from chain.devnet.world.pool_walk import PoolPoint


class PaperState:
    """A block's storage with the words that swaps change kept aside."""

    def __init__(self, below: Storage) -> None:
        self._below = below
        self._changed: dict[int, int] = {}

    def storage(self, address: Address, slot: int) -> int:
        assert address == CONTRACTS.pool_manager
        return self._changed.get(slot) or self._below.storage(address, slot)

    def carry_out(self, round_: MarketRound) -> None:
        for swap in round_.swaps:
            slots = pool_slots(swap.walk.end.pool_id)
            self._changed[slots.slot0] = slot0_word(swap.walk.end)
            self._changed[slots.liquidity] = swap.walk.end.liquidity
        if round_.new_fee is not None:
            slot = pool_slots(DYNAMIC.key.pool_id).slot0
            word = self.storage(CONTRACTS.pool_manager, slot)
            self._changed[slot] = word % 2**208 | round_.new_fee << 208


def slot0_word(point: PoolPoint) -> int:
    return (
        point.sqrt_price_x96
        | (point.tick % 2**24) << 160
        | point.protocol_fee << 184
        | point.lp_fee << 208
    )


@dataclass
class Takings:
    """What providers got and gave, in dollars."""

    fees: float = 0
    lost: float = 0
    """Loss versus rebalancing: what swaps took out of the pool at the market's own price."""


@dataclass
class Ledgerbook:
    takings: dict[tuple[str, Mood], Takings] = field(default_factory=lambda: defaultdict(Takings))
    swaps: int = 0

    def total(self, mood: Mood, pools: tuple[DevnetPool, ...]) -> Takings:
        parts = [self.takings[pool.name, mood] for pool in pools]
        return Takings(sum(part.fees for part in parts), sum(part.lost for part in parts))


def paper_week(market: SimulatedMarket, founded: Storage) -> Ledgerbook:
    """The whole week of one seed."""
    book, state = Ledgerbook(), PaperState(founded)
    visits, closings = history_visits(WEEK_SIZE, market), closing_times(WEEK_SIZE, market)
    trading = SwapBudget(market, WEEK_SIZE.most_swaps - len(POOLS) * len(closings), len(visits))
    moments = [(visit.time, visit) for visit in visits] + [(time, None) for time in closings]
    for time, visit in sorted(moments, key=lambda moment: moment[0]):
        round_ = trading.plan(visit, state) if visit else market.closing(state, time)
        state.carry_out(round_)
        book.swaps += len(round_.swaps)
        for swap in round_.swaps:
            _enter(book, market, swap, time)
    return book


def _enter(book: Ledgerbook, market: SimulatedMarket, swap: PlannedSwap, time: int) -> None:
    pool, walk, prices = swap.pool, swap.walk, market.prices(time)
    sold, bought = (
        (pool.currency0, pool.currency1) if walk.zero_for_one else (pool.currency1, pool.currency0)
    )
    pips = swap.start.fee(zero_for_one=walk.zero_for_one)
    paid = sold.dollars(walk.amount_in, prices) / 10**6
    fee = paid * pips / 10**6
    received = bought.dollars(walk.amount_out, prices) / 10**6
    takings = book.takings[pool.name, market.phase(time).mood]
    takings.fees += fee * swap.start.lp_fee / pips
    takings.lost += received - (paid - fee)
