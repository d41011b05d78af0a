"""What a swap named in a transaction's bytes would pay now, by replay and by the quoter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.hooks import touches_swaps
from chain.execution.build.requests import QuotedSwap
from chain.pools.depth import read_depths
from chain.pools.quote import quote_at_most, quotes_across
from chain.pools.state import pool_state_slots, pool_states
from chain.read.block_reader import OneBlock
from chain.read.storage_words import read_slots

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolKey
    from chain.execution.build.facts import PositionFacts
    from chain.positions.overview import Sources


class SwapInput(Struct, frozen=True):
    """An exact input, the pool it goes through, and the position that leaves that pool first."""

    pool: PoolKey
    zero_for_one: bool
    amount_in: int
    leaving: PositionFacts | None = None


async def replay_swap(sources: Sources, swap: SwapInput, at: str) -> QuotedSwap | None:
    """What the swap pays at this block; None where the pool has no price or too little depth."""
    from agents.lp.observe.pool_facts import REACH

    here = OneBlock(sources.client, sources.network, at)
    words = (await read_slots(here, sources.network, pool_state_slots([swap.pool]))).words
    states = pool_states([swap.pool], words)
    if not states:
        return None
    depth = (await read_depths(here, sources.network, states, reach=REACH))[states[0].pool_id]
    leaving = swap.leaving
    if leaving is not None and leaving.pool.key == swap.pool:
        span = leaving.span
        depth = depth.without(span.tick_lower, span.tick_upper, leaving.liquidity)
    quote = quote_at_most(depth, swap.amount_in, zero_for_one=swap.zero_for_one)
    if quote.amount_in < swap.amount_in:
        return None
    pays = quote.amount_out
    if leaving is None or touches_swaps(swap.pool.hooks):
        pays = min(pays, await _by_quoter(sources, swap, at, otherwise=pays))
    return QuotedSwap(swap.pool, swap.zero_for_one, swap.amount_in, pays, quote.sqrt_price_after)


async def _by_quoter(sources: Sources, swap: SwapInput, at: str, *, otherwise: int) -> int:
    quotes = await quotes_across(
        sources.client,
        sources.network,
        [swap.pool],
        swap.amount_in,
        zero_for_one=swap.zero_for_one,
        at=at,
    )
    return quotes.get(swap.pool, otherwise)
