"""What a pool really holds near its price, by every change of liquidity on the way.

Liquidity crowded into one tick makes a small pool look deep; two more reads of storage, for all
pools at once, tell the two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.math.liquidity import Amounts
from chain.math.sqrt_price import amount0_delta, amount1_delta
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.reading import read_slots
from chain.pools.state import nearby_ticks
from chain.storage import bitmap_slot, decode_tick_liquidity, tick_slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chain.networks import Network
    from chain.pool_key import PoolId
    from chain.pools.state import PoolState
    from chain.positions.one_block import OneBlock

_WORD_TICKS = 256


async def read_depths(
    here: OneBlock, network: Network, states: Sequence[PoolState]
) -> dict[PoolId, Amounts]:
    """What each pool would trade within two per cent of its price."""
    bitmap_slots = (slot for state in states for _, slot in _bitmaps(state))
    bitmaps = (await read_slots(here, network, bitmap_slots)).words
    ticks = {state.pool_id: initialised_ticks(state, bitmaps) for state in states}
    words = await read_slots(
        here,
        network,
        (tick_slots(pool, tick).liquidity for pool, crossed in ticks.items() for tick in crossed),
    )
    depths: dict[PoolId, Amounts] = {}
    for state in states:
        changes = {
            tick: decode_tick_liquidity(words.words[tick_slots(state.pool_id, tick).liquidity]).net
            for tick in ticks[state.pool_id]
        }
        depths[state.pool_id] = depth_of(state, changes)
    return depths


def initialised_ticks(state: PoolState, bitmaps: Mapping[int, int]) -> tuple[int, ...]:
    """The ticks near the price where liquidity changes, in order."""
    nearby = nearby_ticks(state.tick)
    spacing = state.key.tick_spacing
    found = (
        (place * _WORD_TICKS + bit) * spacing
        for place, slot in _bitmaps(state)
        for bit in range(_WORD_TICKS)
        if bitmaps[slot] >> bit & 1
    )
    return tuple(tick for tick in found if nearby.lowest <= tick <= nearby.highest)


def depth_of(state: PoolState, changes: Mapping[int, int]) -> Amounts:
    """Currency0 that buyers could take and currency1 that sellers could."""
    nearby = nearby_ticks(state.tick)
    above = sorted(tick for tick in changes if tick > state.tick)
    below = sorted((tick for tick in changes if tick <= state.tick), reverse=True)

    amount0, price, liquidity = 0, state.sqrt_price_x96, state.liquidity
    for tick in (*above, nearby.highest):
        target = max(sqrt_price_at_tick(tick), price)
        amount0 += amount0_delta(price, target, liquidity, round_up=False)
        price, liquidity = target, liquidity + changes.get(tick, 0)

    amount1, price, liquidity = 0, state.sqrt_price_x96, state.liquidity
    for tick in (*below, nearby.lowest):
        target = min(sqrt_price_at_tick(tick), price)
        amount1 += amount1_delta(target, price, liquidity, round_up=False)
        price, liquidity = target, liquidity - changes.get(tick, 0)
    return Amounts(amount0, amount1)


def _bitmaps(state: PoolState) -> Iterator[tuple[int, int]]:
    """The words of the bitmap that cover the ticks near the price: place and slot."""
    nearby = nearby_ticks(state.tick)
    spacing = state.key.tick_spacing
    first = nearby.lowest // spacing // _WORD_TICKS
    last = nearby.highest // spacing // _WORD_TICKS
    for place in range(first, last + 1):
        yield place, bitmap_slot(state.pool_id, place)
