"""The liquidity around a pool's price, for many pools at once, and what a swap on it would pay."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.abi import WORD, encode_call
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.math.liquidity import Amounts
from chain.math.sqrt_price import amount0_delta, amount1_delta, swap_step
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.state import NEARBY_TICKS, nearby_ticks
from chain.protocols.pool import PoolState, read_questions
from chain.protocols.registry import protocol_named, protocol_of_pool
from chain.read.block_reader import OneBlock
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcError
from chain.rpc.records import BlockRef
from chain.rpc.requests import Call, CallOutcome, Reader

# Liquidity crowded into one tick makes a small pool look deep; two reads of storage tell the two
# apart, and are all it takes to replay a swap.
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


class StateAnswers(Struct, frozen=True):
    states: tuple[PoolState, ...]
    """Of the pools that exist."""
    outcomes: Sequence[CallOutcome]


async def read_states(
    here: OneBlock, network: Network, keys: Iterable[PoolKey], calls: Sequence[Call] = ()
) -> StateAnswers:
    """Pools of any protocol, and the outcomes of the calls, in one request where they fit."""
    questions = {key: protocol_named(key.protocol).state(key) for key in keys}
    states, told = await read_questions(here, network, questions, calls)
    return StateAnswers(tuple(state for state in states.values() if state is not None), told)


async def read_depths(
    here: OneBlock, network: Network, states: Sequence[PoolState], *, reach: int = NEARBY_TICKS
) -> dict[PoolId, Depth]:
    """The liquidity of each pool within so many ticks of its price, in two requests for all."""
    words = {state.pool_id: _words(state, reach) for state in states}
    of_pool = {state.pool_id: protocol_of_pool(state.pool_id) for state in states}
    bitmaps, _ = await read_questions(
        here, network, {(p, at): of_pool[p].bitmap_word(p, at) for p in words for at in words[p]}
    )
    ticks = {
        state.pool_id: tuple(
            (word * WORD_TICKS + bit) * state.key.tick_spacing
            for word in words[state.pool_id]
            for bit in range(WORD_TICKS)
            if bitmaps[state.pool_id, word] >> bit & 1
        )
        for state in states
    }
    nets, _ = await read_questions(
        here, network, {(p, at): of_pool[p].net_liquidity(p, at) for p in ticks for at in ticks[p]}
    )
    return {
        state.pool_id: Depth(
            state=state,
            changes=tuple((tick, nets[state.pool_id, tick]) for tick in ticks[state.pool_id]),
            lowest=max(words[state.pool_id].start * _word_width(state), MIN_TICK),
            highest=min(words[state.pool_id].stop * _word_width(state), MAX_TICK),
        )
        for state in states
    }


async def read_pool_depths(
    here: OneBlock, network: Network, keys: Sequence[PoolKey], *, reach: int
) -> tuple[Depth, ...]:
    """Those of these pools that hold anything, in three requests for all."""
    states = [state for state in (await read_states(here, network, keys)).states if state.liquidity]
    depths = await read_depths(here, network, states, reach=reach)
    return tuple(depths[state.pool_id] for state in states)


def _word_width(state: PoolState) -> int:
    """The ticks that one word of the bitmap covers."""
    return WORD_TICKS * state.key.tick_spacing


def _words(state: PoolState, reach: int) -> range:
    """The words of the bitmap that cover the ticks within reach."""
    per_word = _word_width(state)
    middle = state.tick // per_word
    first = max((state.tick - reach) // per_word, MIN_TICK // per_word, middle - MOST_WORDS // 2)
    last = min((state.tick + reach) // per_word, MAX_TICK // per_word, middle + MOST_WORDS // 2)
    return range(first, last + 1)


# The replay goes as `Pool.swap` runs, word by word of the tick bitmap, because the contract
# rounds at every word: the result equals V4Quoter's to the unit, without asking the chain.
QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"


async def quotes_across(
    reader: Reader,
    network: Network,
    pools: Sequence[PoolKey],
    amount_in: int,
    *,
    zero_for_one: bool,
    at: BlockRef,
) -> dict[PoolKey, int]:
    """By pool what this input buys; a pool that refuses is missing, and all without a quoter.

    The quoter is v4's: of other pools it would speak as if they were its own.
    """
    pools = [pool for pool in pools if protocol_named(pool.protocol).in_pool_manager]
    asked = (encode_call(QUOTE, (pool.values, zero_for_one, amount_in, b"")) for pool in pools)
    outcomes = await reader.settle(
        [requests.call(network.contracts.quoter, data, at) for data in asked]
    )
    quotes: dict[PoolKey, int] = {}
    for pool, outcome in zip(pools, outcomes, strict=True):
        if isinstance(outcome, RpcError):
            if not isinstance(outcome, Reverted):
                raise outcome
        elif len(outcome) == 2 * WORD:
            quotes[pool] = int.from_bytes(outcome[:WORD], "big")
    return quotes


class SwapQuote(Struct, frozen=True):
    amount_in: int
    """What the pool takes, the fee included."""
    amount_out: int
    fee: int
    """Of the input, in its units."""
    sqrt_price_after: int


def quote_at_most(depth: Depth, most_in: int, *, zero_for_one: bool) -> SwapQuote:
    """What a swap of this input pays out, or of as much of it as the known liquidity takes."""
    state = depth.state
    pips = state.swap_fee(zero_for_one=zero_for_one)
    nets = dict(depth.changes)
    ticks = [tick for tick, _ in depth.changes]
    price, tick, liquidity = state.sqrt_price_x96, state.tick, state.liquidity
    remaining, received, fees = most_in, 0, 0
    while remaining > 0:
        target_tick = _next_tick(ticks, tick, state.key.tick_spacing, zero_for_one=zero_for_one)
        if not depth.lowest <= target_tick <= depth.highest:
            break
        target = sqrt_price_at_tick(target_tick)
        step = swap_step(price, target, liquidity, -remaining, pips)
        remaining -= step.amount_in + step.fee
        received += step.amount_out
        fees += step.fee
        if step.sqrt_price == target:
            change = nets.get(target_tick, 0)
            liquidity += -change if zero_for_one else change
            tick = target_tick - 1 if zero_for_one else target_tick
        elif step.sqrt_price != price:
            tick = tick_at_sqrt_price(step.sqrt_price)
        price = step.sqrt_price
    return SwapQuote(most_in - remaining, received, fees, price)


def _next_tick(ticks: Sequence[int], tick: int, spacing: int, *, zero_for_one: bool) -> int:
    """TickBitmap.nextInitializedTickWithinOneWord: the next initialised tick, or the word's end."""
    compressed = tick // spacing
    if zero_for_one:
        word_end = (compressed // WORD_TICKS) * WORD_TICKS * spacing
        index = bisect_right(ticks, compressed * spacing) - 1
        found = max(ticks[index], word_end) if index >= 0 else word_end
        return max(found, MIN_TICK)
    compressed += 1
    word_end = ((compressed // WORD_TICKS) * WORD_TICKS + WORD_TICKS - 1) * spacing
    index = bisect_left(ticks, compressed * spacing)
    found = min(ticks[index], word_end) if index < len(ticks) else word_end
    return min(found, MAX_TICK)
