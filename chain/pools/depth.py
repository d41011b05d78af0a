"""The liquidity around a pool's price: every change of it on the way, for many pools at once.

Liquidity crowded into one tick makes a small pool look deep; two reads of storage tell the two
apart, and are all it takes to replay a swap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.storage import bitmap_slot, decode_tick_liquidity, tick_slots
from chain.math.liquidity import Amounts
from chain.math.sqrt_price import amount0_delta, amount1_delta
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from chain.pools.state import NEARBY_TICKS, PoolState, nearby_ticks
from chain.read.storage_words import read_slots

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.read.block_reader import OneBlock

WORD_TICKS = 256
"""How many usable ticks one word of the bitmap holds."""
MOST_WORDS = 400
"""Bounds the first read: a full-range look at a one-tick pool would be 7,000 words."""


class Depth(Struct, frozen=True):
    """The active liquidity at the price, and every change of it between two ticks."""

    state: PoolState
    changes: tuple[tuple[int, int], ...]
    """Initialised ticks in order, each with the liquidity added when crossed upwards."""
    lowest: int
    highest: int
    """Between these ticks nothing is missing."""

    def steps(self) -> Iterator[tuple[int, int, int]]:
        """The liquidity of each stretch between two changes: from tick, to tick, liquidity."""
        crossed = sum(net for tick, net in self.changes if tick <= self.state.tick)
        start, liquidity = self.lowest, self.state.liquidity - crossed
        for tick, net in self.changes:
            yield start, tick, liquidity
            start, liquidity = tick, liquidity + net
        yield start, self.highest, liquidity

    def without(self, lower: int, upper: int, liquidity: int) -> Depth:
        """The same pool once a position between these ticks has left it."""
        active = liquidity if lower <= self.state.tick < upper else 0
        nets = dict(self.changes)
        nets[lower] = nets.get(lower, 0) - liquidity
        nets[upper] = nets.get(upper, 0) + liquidity
        left = ((tick, net) for tick, net in nets.items() if self.lowest <= tick <= self.highest)
        state = replace(self.state, liquidity=self.state.liquidity - active)
        return replace(self, state=state, changes=tuple(sorted(left)))

    def nearby(self) -> Amounts:
        """Currency0 that buyers could take within two per cent, currency1 that sellers could."""
        lowest, highest = nearby_ticks(self.state.tick)
        price, amount0, amount1 = self.state.sqrt_price_x96, 0, 0
        for start, end, liquidity in self.steps():
            lower = sqrt_price_at_tick(max(start, lowest))
            upper = sqrt_price_at_tick(min(end, highest))
            if max(lower, price) < upper:
                amount0 += amount0_delta(max(lower, price), upper, liquidity, round_up=False)
            if lower < min(upper, price):
                amount1 += amount1_delta(lower, min(upper, price), liquidity, round_up=False)
        return Amounts(amount0, amount1)


async def read_depths(
    here: OneBlock, network: Network, states: Sequence[PoolState], *, reach: int = NEARBY_TICKS
) -> dict[PoolId, Depth]:
    """The liquidity of each pool within so many ticks of its price, in two requests for all."""
    bitmap_slots = (
        bitmap_slot(state.pool_id, word) for state in states for word in _words(state, reach)
    )
    bitmaps = (await read_slots(here, network, bitmap_slots)).words
    ticks = {state.pool_id: _initialised(state, reach, bitmaps) for state in states}
    tick_words = (tick_slots(pool, tick).liquidity for pool in ticks for tick in ticks[pool])
    words = (await read_slots(here, network, tick_words)).words
    return {
        state.pool_id: Depth(
            state=state,
            changes=tuple(
                (tick, decode_tick_liquidity(words[tick_slots(state.pool_id, tick).liquidity]).net)
                for tick in ticks[state.pool_id]
            ),
            lowest=max(_words(state, reach).start * WORD_TICKS * state.key.tick_spacing, MIN_TICK),
            highest=min(_words(state, reach).stop * WORD_TICKS * state.key.tick_spacing, MAX_TICK),
        )
        for state in states
    }


def _initialised(state: PoolState, reach: int, bitmaps: Mapping[int, int]) -> tuple[int, ...]:
    """The ticks where liquidity changes, in order."""
    return tuple(
        (word * WORD_TICKS + bit) * state.key.tick_spacing
        for word in _words(state, reach)
        for bit in range(WORD_TICKS)
        if bitmaps[bitmap_slot(state.pool_id, word)] >> bit & 1
    )


def _words(state: PoolState, reach: int) -> range:
    """The words of the bitmap that cover the ticks within reach."""
    per_word = WORD_TICKS * state.key.tick_spacing
    middle = state.tick // per_word
    first = max((state.tick - reach) // per_word, MIN_TICK // per_word, middle - MOST_WORDS // 2)
    last = min((state.tick + reach) // per_word, MAX_TICK // per_word, middle + MOST_WORDS // 2)
    return range(first, last + 1)
