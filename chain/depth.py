"""A pool's liquidity around its price: what it would take to move it, and what a swap would pay.

With the initialised ticks in hand a swap is replayed here as Pool.swap runs it, word by word of the
bitmap, because the contract rounds at every word: the result equals V4Quoter's to the unit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.abi import decode, encode_call
from chain.math.fees import swap_fee, unpack_protocol_fee
from chain.math.swap_step import swap_step
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick, tick_at_sqrt_price
from chain.rpc import requests
from chain.storage import (
    EXTSLOAD,
    bitmap_slot,
    decode_slot0,
    decode_tick_liquidity,
    pool_slots,
    slot_bytes,
    tick_slots,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.networks import Network
    from chain.pool_key import PoolKey
    from chain.rpc.client import RpcClient
    from chain.rpc.types import BlockRef

WORD_TICKS = 256
"""How many compressed ticks one word of the bitmap holds."""
MOST_WORDS = 400
"""Bounds the first read: a full-range look at a one-tick pool would be 7,000 words."""


class DepthExceededError(Exception):
    """A swap larger than the liquidity that was read."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The active liquidity at the price, and every change of it between two ticks."""

    sqrt_price_x96: int
    tick: int
    liquidity: int
    lp_fee: int
    protocol_fee: int
    tick_spacing: int
    changes: tuple[tuple[int, int], ...]
    """Initialised ticks in order, each with the liquidity added when crossed upwards."""
    lowest: int
    highest: int
    """Between these ticks nothing is missing."""


@dataclass(frozen=True, slots=True)
class SwapQuote:
    amount_in: int
    amount_out: int
    fee: int
    """Of the input, in its units."""
    sqrt_price_after: int


def quote_exact_input(depth: Depth, amount_in: int, *, zero_for_one: bool) -> SwapQuote:
    """What a swap of exactly this input pays out, as `Pool.swap` computes it."""
    protocol = unpack_protocol_fee(depth.protocol_fee).towards(zero_for_one=zero_for_one)
    pips = swap_fee(protocol, depth.lp_fee)
    nets = dict(depth.changes)
    ticks = [tick for tick, _ in depth.changes]
    price, tick, liquidity = depth.sqrt_price_x96, depth.tick, depth.liquidity
    remaining, received, fees = amount_in, 0, 0
    while remaining > 0:
        target_tick = _next_tick(ticks, tick, depth.tick_spacing, zero_for_one=zero_for_one)
        if not depth.lowest <= target_tick <= depth.highest:
            raise DepthExceededError("The swap is larger than the liquidity around the price.")
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
    return SwapQuote(amount_in, received, fees, price)


def liquidity_steps(depth: Depth) -> Iterator[tuple[int, int, int]]:
    """The active liquidity of each stretch between two changes: from tick, to tick, liquidity."""
    edges = [depth.lowest, *(tick for tick, _ in depth.changes), depth.highest]
    below = sum(net for tick, net in depth.changes if tick <= depth.tick)
    liquidity = depth.liquidity - below
    yield edges[0], edges[1], liquidity
    for (_, net), start, end in zip(depth.changes, edges[1:], edges[2:], strict=False):
        liquidity += net
        yield start, end, liquidity


async def read_depth(
    client: RpcClient, network: Network, key: PoolKey, at: BlockRef, *, around: int, reach: int
) -> Depth:
    """The liquidity within `reach` ticks of the tick `around`, in two requests at one block."""
    words = _words_within(around - reach, around + reach, key.tick_spacing)
    slots = pool_slots(key.pool_id)
    asked = [slots.slot0, slots.liquidity, *(bitmap_slot(key.pool_id, word) for word in words)]
    slot0_word, liquidity, *bitmaps = await _extsload(client, network, asked, at)
    ticks = [
        (word * WORD_TICKS + bit) * key.tick_spacing
        for word, bitmap in zip(words, bitmaps, strict=True)
        for bit in range(WORD_TICKS)
        if bitmap >> bit & 1
    ]
    packed = await _extsload(
        client, network, [tick_slots(key.pool_id, tick).liquidity for tick in ticks], at
    )
    slot0 = decode_slot0(slot0_word)
    return Depth(
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        liquidity=liquidity,
        lp_fee=slot0.lp_fee,
        protocol_fee=slot0.protocol_fee,
        tick_spacing=key.tick_spacing,
        changes=tuple(
            (tick, decode_tick_liquidity(word).net)
            for tick, word in zip(ticks, packed, strict=True)
        ),
        lowest=max(words[0] * WORD_TICKS * key.tick_spacing, MIN_TICK),
        highest=min((words[-1] * WORD_TICKS + WORD_TICKS - 1) * key.tick_spacing, MAX_TICK),
    )


def _words_within(lower: int, upper: int, spacing: int) -> range:
    first = max(lower, MIN_TICK) // spacing >> 8
    last = min(upper, MAX_TICK) // spacing >> 8
    middle = (first + last) // 2
    first, last = max(first, middle - MOST_WORDS // 2), min(last, middle + MOST_WORDS // 2)
    return range(first, last + 1)


def _next_tick(ticks: Sequence[int], tick: int, spacing: int, *, zero_for_one: bool) -> int:
    """TickBitmap.nextInitializedTickWithinOneWord: the next initialised tick, or the word's end."""
    compressed = tick // spacing
    if zero_for_one:
        word_end = (compressed >> 8) * WORD_TICKS * spacing
        index = bisect_right(ticks, compressed * spacing) - 1
        found = max(ticks[index], word_end) if index >= 0 else word_end
        return max(found, MIN_TICK)
    compressed += 1
    word_end = ((compressed >> 8) * WORD_TICKS + WORD_TICKS - 1) * spacing
    index = bisect_left(ticks, compressed * spacing)
    found = min(ticks[index], word_end) if index < len(ticks) else word_end
    return min(found, MAX_TICK)


async def _extsload(
    client: RpcClient, network: Network, slots: Sequence[int], at: BlockRef
) -> tuple[int, ...]:
    if not slots:
        return ()
    data = encode_call(EXTSLOAD, [slot_bytes(slot) for slot in slots])
    answer = await client.ask(requests.call(network.contracts.pool_manager, data, at))
    (words,) = decode(("bytes32[]",), answer)
    return tuple(int.from_bytes(word, "big") for word in words)
