"""Where the PoolManager keeps a position and its pool, and what its words tell of both."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey, position_key
from chain.contracts.storage import (
    PoolSlots,
    PositionSlots,
    TickSlots,
    decode_slot0,
    pool_slots,
    position_slots,
    tick_slots,
)
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed, unpack_protocol_fee
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.custody import Custody
from chain.protocols.pool import PoolSnapshot, PoolState, usual_pools
from chain.protocols.reference import v4_token_id
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot, range_status
from chain.rpc.records import Block

STORAGE = "PoolManager storage"

_LAYOUTS_KEPT = 50_000


class PositionLayout(Struct, frozen=True, gc=False):
    """Where the PoolManager stores a position, and the prices at the ends of its range."""

    pool: PoolSlots
    lower: TickSlots
    upper: TickSlots
    position: PositionSlots
    sqrt_price_lower: int
    sqrt_price_upper: int

    @property
    def slots(self) -> tuple[int, ...]:
        """Every word that amounts, fees and range status are computed from."""
        pool, lower, upper, position = self.pool, self.lower, self.upper, self.position
        return (
            pool.slot0,
            pool.fee_growth_global0,
            pool.fee_growth_global1,
            pool.liquidity,
            lower.fee_growth_outside0,
            lower.fee_growth_outside1,
            upper.fee_growth_outside0,
            upper.fee_growth_outside1,
            position.liquidity,
            position.fee_growth_inside0_last,
            position.fee_growth_inside1_last,
        )


# Eight hashes a position: computed once, because a monitor asks for thousands on every poll.
@lru_cache(maxsize=_LAYOUTS_KEPT)
def layout_of(identity: PositionIdentity, position_manager: Address) -> PositionLayout:
    key = position_key(
        position_manager, identity.tick_lower, identity.tick_upper, v4_token_id(identity.ref)
    )
    pool = _pool_slots(identity.pool_id)
    lower = tick_slots(identity.pool_id, identity.tick_lower)
    upper = tick_slots(identity.pool_id, identity.tick_upper)
    position = position_slots(identity.pool_id, key)
    return PositionLayout(
        pool=pool,
        lower=lower,
        upper=upper,
        position=position,
        sqrt_price_lower=sqrt_price_at_tick(identity.tick_lower),
        sqrt_price_upper=sqrt_price_at_tick(identity.tick_upper),
    )


_pool_slots = lru_cache(maxsize=_LAYOUTS_KEPT)(pool_slots)


def pool_snapshot(
    identity: PositionIdentity,
    position_manager: Address,
    words: Mapping[int, int],
    hook_code: bytes | None,
) -> PoolSnapshot:
    slots = layout_of(identity, position_manager).pool
    slot0 = decode_slot0(words[slots.slot0])
    key = identity.pool_key
    return PoolSnapshot(
        pool_id=identity.pool_id,
        key=key,
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        lp_fee=slot0.lp_fee,
        protocol_fee=unpack_protocol_fee(slot0.protocol_fee),
        liquidity=words[slots.liquidity],
        fee_growth=FeeGrowth(words[slots.fee_growth_global0], words[slots.fee_growth_global1]),
        hook=hook_passport(key.hooks, key.fee, hook_code),
    )


def position_snapshot(
    identity: PositionIdentity,
    position_manager: Address,
    words: Mapping[int, int],
    *,
    block: Block,
    pool: PoolSnapshot,
    custody: Custody,
) -> PositionSnapshot:
    layout = layout_of(identity, position_manager)
    liquidity = words[layout.position.liquidity]
    amounts = amounts_for_liquidity(
        pool.sqrt_price_x96,
        layout.sqrt_price_lower,
        layout.sqrt_price_upper,
        liquidity,
        round_up=False,
    )
    inside = fee_growth_inside(
        pool.tick,
        identity.tick_lower,
        identity.tick_upper,
        global_growth=pool.fee_growth,
        outside_lower=FeeGrowth(
            words[layout.lower.fee_growth_outside0], words[layout.lower.fee_growth_outside1]
        ),
        outside_upper=FeeGrowth(
            words[layout.upper.fee_growth_outside0], words[layout.upper.fee_growth_outside1]
        ),
    )
    last = FeeGrowth(
        words[layout.position.fee_growth_inside0_last],
        words[layout.position.fee_growth_inside1_last],
    )
    fees = fees_owed(inside, last, liquidity)
    return PositionSnapshot(
        identity=identity,
        block=block,
        pool=pool,
        custody=custody,
        liquidity=liquidity,
        amount0=amounts.amount0,
        amount1=amounts.amount1,
        fees0=fees.fees0,
        fees1=fees.fees1,
        status=range_status(pool.tick, identity.tick_lower, identity.tick_upper),
    )


_POOLS_KEPT = 20_000


def pool_state_slots(keys: Iterable[PoolKey]) -> tuple[int, ...]:
    """The storage words `pool_states` needs."""
    return tuple(slot for key in keys for slot in _state_slots(key))


def pool_states(keys: Iterable[PoolKey], words: Mapping[int, int]) -> tuple[PoolState, ...]:
    """Those of the pools that exist: a pool nobody initialised has no price."""
    states = (_pool_state(key, words) for key in keys)
    return tuple(state for state in states if state.sqrt_price_x96)


def _pool_state(key: PoolKey, words: Mapping[int, int]) -> PoolState:
    slot0_slot, liquidity_slot = _state_slots(key)
    slot0 = decode_slot0(words[slot0_slot])
    return PoolState(
        key=key,
        pool_id=_pool_id(key),
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        lp_fee=slot0.lp_fee,
        protocol_fee=unpack_protocol_fee(slot0.protocol_fee),
        liquidity=words[liquidity_slot] % (1 << 128),
    )


# Three hashes a pool, the same for every poll of a monitor.
@lru_cache(maxsize=_POOLS_KEPT)
def _state_slots(key: PoolKey) -> tuple[int, int]:
    slots = pool_slots(_pool_id(key))
    return slots.slot0, slots.liquidity


@lru_cache(maxsize=_POOLS_KEPT)
def _pool_id(key: PoolKey) -> PoolId:
    return key.pool_id


def candidate_pools(tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
    """Every plain pool between two of these tokens."""
    return tuple(PoolKey(*made_of, NO_HOOK) for made_of in usual_pools(tokens))


def plain_pools(one: Address, other: Address) -> tuple[PoolKey, ...]:
    """The pools of a pair at the usual fees, without a hook."""
    return candidate_pools((one, other))
