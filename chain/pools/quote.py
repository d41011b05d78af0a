"""What a swap would pay, replayed here on a pool's depth.

The replay goes as `Pool.swap` runs, word by word of the tick bitmap, because the contract rounds at
every word: the result equals V4Quoter's to the unit, without asking the chain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.abi import WORD, encode_call
from chain.math.fees import swap_fee
from chain.math.swap_step import swap_step
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.depth import WORD_TICKS, Depth
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcError

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolKey
    from chain.rpc.reader import Reader
    from chain.rpc.records import BlockRef

_QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"


async def quotes_across(
    reader: Reader,
    network: Network,
    pools: Sequence[PoolKey],
    amount_in: int,
    *,
    zero_for_one: bool,
    at: BlockRef,
) -> dict[PoolKey, int]:
    """By pool what this input buys; a pool that refuses is missing, and all without a quoter."""
    asked = (encode_call(_QUOTE, (pool.values, zero_for_one, amount_in, b"")) for pool in pools)
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


class DepthExceededError(Exception):
    """A swap larger than the liquidity that was read."""


class SwapQuote(Struct, frozen=True):
    amount_in: int
    """What the pool takes, the fee included."""
    amount_out: int
    fee: int
    """Of the input, in its units."""
    sqrt_price_after: int


def quote_exact_input(depth: Depth, amount_in: int, *, zero_for_one: bool) -> SwapQuote:
    """What a swap of exactly this input pays out."""
    quote = quote_at_most(depth, amount_in, zero_for_one=zero_for_one)
    if quote.amount_in < amount_in:
        raise DepthExceededError("The swap is larger than the liquidity around the price.")
    return quote


def quote_at_most(depth: Depth, most_in: int, *, zero_for_one: bool) -> SwapQuote:
    """What a swap of this input pays out, or of as much of it as the known liquidity takes."""
    state = depth.state
    protocol = state.protocol_fee.towards(zero_for_one=zero_for_one)
    pips = swap_fee(protocol, state.lp_fee)
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
