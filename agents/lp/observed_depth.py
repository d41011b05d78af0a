"""A pool's liquidity as it was observed, for a swap to be replayed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.contracts.pool_key import PoolKey
from chain.math.fees import unpack_protocol_fee
from chain.pools.depth import Depth
from chain.pools.state import PoolState

if TYPE_CHECKING:
    from agents.lp.facts import ObservedPoolFacts


def key_of(pool: ObservedPoolFacts) -> PoolKey:
    return PoolKey(pool.currency0, pool.currency1, pool.fee, pool.tick_spacing, pool.hooks)


def depth_of(pool: ObservedPoolFacts) -> Depth:
    """The liquidity that was observed, for `chain.pools.quote` to replay a swap on."""
    state = PoolState(
        key=key_of(pool),
        pool_id=pool.pool_id,
        sqrt_price_x96=pool.sqrt_price_x96,
        tick=pool.tick,
        lp_fee=pool.lp_fee,
        protocol_fee=unpack_protocol_fee(pool.protocol_fee),
        liquidity=pool.liquidity,
    )
    return Depth(state, tuple(sorted(pool.changes)), pool.lowest, pool.highest)
