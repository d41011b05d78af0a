"""The market run on paper: the same plans, carried out on storage words instead of contracts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from operator import attrgetter

from chain.base.units import PIPS
from chain.contracts.networks import Address
from chain.contracts.storage import pool_slots
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import (
    HISTORY_ENDS,
    MARKET_OPENS,
    WEEK_SIZE,
    MarketClosing,
    MarketRound,
    MarketVisit,
    PlannedSwap,
    SimulatedMarket,
    Storage,
    history_visits,
    live_visits,
    market_closings,
)
from chain.devnet.world.pools import DYNAMIC, PoolPoint
from chain.devnet.world.worlds import SwapBudget
from tests.chain.devnet.pool_edge import PoolTrade
from tests.chain_view import ChainView


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
            slot, growth = _fee_growth(swap)
            self._changed[slot] = self.storage(CONTRACTS.pool_manager, slot) + growth
        if round_.new_fee is not None:
            slot = pool_slots(DYNAMIC.key.pool_id).slot0
            word = self.storage(CONTRACTS.pool_manager, slot)
            self._changed[slot] = word % 2**208 | round_.new_fee << 208


def _fee_growth(swap: PlannedSwap) -> tuple[int, int]:
    """Fees of a unit of liquidity, which the way of the price decides, however deep the pool."""
    walk, slots = swap.walk, pool_slots(swap.walk.end.pool_id)
    start, end = swap.start.sqrt_price_x96, walk.end.sqrt_price_x96
    fee, rest = swap.start.lp_fee, PIPS - swap.start.fee(zero_for_one=walk.zero_for_one)
    if walk.zero_for_one:
        return slots.fee_growth_global0, ((1 << 224) // end - (1 << 224) // start) * fee // rest
    return slots.fee_growth_global1, (end - start << 32) * fee // rest


def slot0_word(point: PoolPoint) -> int:
    return (
        point.sqrt_price_x96
        | (point.tick % 2**24) << 160
        | point.protocol_fee << 184
        | point.lp_fee << 208
    )


class KeptStorage:
    """Words of one block, each asked for once."""

    def __init__(self, chain: ChainView, number: int) -> None:
        self._chain = replace(chain, at=hex(number))
        self._words: dict[tuple[Address, int], int] = {}

    def storage(self, address: Address, slot: int) -> int:
        if (address, slot) not in self._words:
            self._words[address, slot] = self._chain.storage(address, slot)
        return self._words[address, slot]


def before_trading(chain: ChainView) -> KeptStorage:
    number = 0
    while chain.header(number + 1).timestamp < MARKET_OPENS:
        number += 1
    return KeptStorage(chain, number)


def paper_swaps(
    market: SimulatedMarket, founded: Storage, *, until: int
) -> Iterator[tuple[int, PlannedSwap]]:
    """Every swap of the week and of the live market after it, with its time."""
    state = PaperState(founded)
    visits, closings = history_visits(WEEK_SIZE), market_closings(market)
    budget = WEEK_SIZE.most_swaps - sum(len(closing.pools) for closing in closings)
    trading = SwapBudget(market, budget, len(visits))
    history: list[MarketVisit | MarketClosing] = sorted(
        [*visits, *closings], key=attrgetter("time")
    )
    for moment in history:
        if isinstance(moment, MarketClosing):
            round_ = market.closing_round(state, moment.time, moment.pools)
        else:
            round_ = trading.plan(moment, state)
        state.carry_out(round_)
        for swap in round_.swaps:
            yield moment.time, swap
    yield from live_paper_swaps(market, state, until=until)


def live_paper_swaps(
    market: SimulatedMarket, state: PaperState, *, until: int
) -> Iterator[tuple[int, PlannedSwap]]:
    """Those of the live market alone, from what the week left."""
    for visit in takewhile(lambda one: one.time <= until, live_visits(market, HISTORY_ENDS)):
        round_ = market.round(state, visit)
        state.carry_out(round_)
        for swap in round_.swaps:
            yield visit.time, swap


def traded(time: int, swap: PlannedSwap) -> PoolTrade:
    """The swap as its event would tell it."""
    walk, root = swap.walk, swap.walk.end.sqrt_price_x96 / 2**96
    paid = walk.amount_in * (root * root if walk.zero_for_one else 1)
    return PoolTrade(time, root, paid * swap.start.lp_fee / PIPS, walk.end.liquidity)
