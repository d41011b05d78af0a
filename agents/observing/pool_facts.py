"""A pool as facts keep it: enough of its liquidity to replay any swap a candidate may need."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from agents.facts import PoolFacts
from agents.numbers.shapes import (
    MAX_CENTER_OFFSET_TICKS,
    MAX_WIDTH_MULTIPLIER,
    MOST_BASE_SIGMAS,
)
from chain.math.fees import ProtocolFee, unpack_protocol_fee
from chain.pool_key import PoolKey
from chain.pools.depth import Depth
from chain.pools.state import PoolState

if TYPE_CHECKING:
    from chain.hooks import HookPassport

WIDEST_SIGMA_TICKS = 875
"""A day's deviation up to which the widest range lies within reach: nine per cent."""
REACH = int(MOST_BASE_SIGMAS * MAX_WIDTH_MULTIPLIER * WIDEST_SIGMA_TICKS) + MAX_CENTER_OFFSET_TICKS
MOST_CHANGES_A_SIDE = 250
"""Bounds the envelope: twelve pools with more ticks than this would not fit into one."""


def pool_facts(depth: Depth, hook: HookPassport) -> PoolFacts:
    state = depth.state
    key = state.key
    near = nearest_changes(depth)
    return PoolFacts(
        pool_id=state.pool_id,
        currency0=key.currency0,
        currency1=key.currency1,
        fee=key.fee,
        tick_spacing=key.tick_spacing,
        hooks=key.hooks,
        sqrt_price_x96=state.sqrt_price_x96,
        tick=state.tick,
        liquidity=state.liquidity,
        lp_fee=state.lp_fee,
        protocol_fee=_packed(state.protocol_fee),
        changes=near.changes,
        lowest=near.lowest,
        highest=near.highest,
        hook_danger=hook.danger.value,
        hook_powers=hook.sentences if hook.present else (),
    )


def depth_of(pool: PoolFacts) -> Depth:
    """The liquidity that was observed, for `chain.pools.quote` to replay a swap on."""
    key = PoolKey(pool.currency0, pool.currency1, pool.fee, pool.tick_spacing, pool.hooks)
    state = PoolState(
        key=key,
        pool_id=pool.pool_id,
        sqrt_price_x96=pool.sqrt_price_x96,
        tick=pool.tick,
        lp_fee=pool.lp_fee,
        protocol_fee=unpack_protocol_fee(pool.protocol_fee),
        liquidity=pool.liquidity,
    )
    return Depth(state, pool.changes, pool.lowest, pool.highest)


def nearest_changes(depth: Depth) -> Depth:
    """As much of the liquidity around the price as fits; nothing is missing between its ends."""
    ticks = [tick for tick, _ in depth.changes]
    middle = bisect_right(ticks, depth.state.tick)
    first = max(0, middle - MOST_CHANGES_A_SIDE)
    last = min(len(ticks), middle + MOST_CHANGES_A_SIDE)
    return Depth(
        state=depth.state,
        changes=depth.changes[first:last],
        lowest=ticks[first] if first > 0 else depth.lowest,
        highest=ticks[last - 1] if last < len(ticks) else depth.highest,
    )


def _packed(fee: ProtocolFee) -> int:
    """The inverse of `unpack_protocol_fee`."""
    return fee.zero_for_one | fee.one_for_zero << 12
