"""Pools of v4, which the PoolManager keeps as words of its storage."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.storage import decode_slot0, pool_slots
from chain.math.fees import unpack_protocol_fee
from chain.protocols.pool import PoolState, usual_pools

_POOLS_KEPT = 20_000


def pool_state_slots(keys: Iterable[PoolKey]) -> tuple[int, ...]:
    """The storage words `pool_states` needs."""
    return tuple(slot for key in keys for slot in _slots(key))


def pool_states(keys: Iterable[PoolKey], words: Mapping[int, int]) -> tuple[PoolState, ...]:
    """Those of the pools that exist: a pool nobody initialised has no price."""
    states = (_pool_state(key, words) for key in keys)
    return tuple(state for state in states if state.sqrt_price_x96)


def _pool_state(key: PoolKey, words: Mapping[int, int]) -> PoolState:
    slot0_slot, liquidity_slot = _slots(key)
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
def _slots(key: PoolKey) -> tuple[int, int]:
    slots = pool_slots(_pool_id(key))
    return slots.slot0, slots.liquidity


@lru_cache(maxsize=_POOLS_KEPT)
def _pool_id(key: PoolKey) -> PoolId:
    return key.pool_id


def candidate_pools(tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
    """Every plain pool between two of these tokens."""
    return tuple(PoolKey(*made_of, NO_HOOK) for made_of in usual_pools(tokens))


def is_plain_pool(key: PoolKey) -> bool:
    return key in plain_pools(key.currency0, key.currency1)


def plain_pools(one: Address, other: Address) -> tuple[PoolKey, ...]:
    """The pools of a pair at the usual fees, without a hook."""
    return candidate_pools((one, other))
