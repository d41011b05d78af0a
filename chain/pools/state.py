"""A pool as the PoolManager stores it at one block, and the plain pools that may exist."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from chain.contracts.abi import encode_call
from chain.contracts.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS, NO_HOOK, HookPassport
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.storage import decode_slot0, pool_slots
from chain.contracts.v3_pool import V3PoolKey
from chain.math.fees import ProtocolFee, swap_fee, unpack_protocol_fee
from chain.math.ticks import MAX_TICK, MIN_TICK
from chain.read.block_reader import expected
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcRefused
from chain.rpc.requests import Reader

NEARBY_TICKS = 200
"""About two per cent: how far around the price a pool's depth is counted."""

_PRICE_DENOMINATOR = 1 << 192
_POOLS_KEPT = 20_000


class PoolState(Struct, frozen=True):
    key: PoolKey
    pool_id: PoolId
    sqrt_price_x96: int
    tick: int
    """As the pool keeps it: at a boundary it may be one less than the tick of the price."""
    lp_fee: int
    """Pips that providers take now; in a dynamic-fee pool what the hook last set."""
    protocol_fee: ProtocolFee
    liquidity: int
    """Of all positions the price is inside of."""

    def price(self, decimals0: int, decimals1: int) -> Fraction:
        """Whole currency1 for one whole currency0, exactly."""
        return Fraction(self.sqrt_price_x96**2 * 10**decimals0, _PRICE_DENOMINATOR * 10**decimals1)

    def swap_fee(self, *, zero_for_one: bool) -> int:
        """Pips a swapper pays in this direction, the protocol's share included."""
        if isinstance(self.key, V3PoolKey):
            return self.key.fee
        return swap_fee(self.protocol_fee.towards(zero_for_one=zero_for_one), self.lp_fee)


class NearbyTicks(NamedTuple):
    lowest: int
    highest: int


def nearby_ticks(tick: int) -> NearbyTicks:
    """The ticks within which a pool's depth is counted."""
    return NearbyTicks(max(tick - NEARBY_TICKS, MIN_TICK), min(tick + NEARBY_TICKS, MAX_TICK))


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


USUAL_TIERS = ((100, 1), (500, 10), (3000, 60), (10000, 200))
"""Fee in pips and tick spacing, as Uniswap's own interface pairs them."""


def candidate_pools(tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
    """Every plain pool between two of these tokens."""
    return tuple(
        key
        for token, other in combinations(dict.fromkeys(tokens), 2)
        for key in plain_pools(token, other)
    )


def is_plain_pool(key: PoolKey) -> bool:
    return key in plain_pools(key.currency0, key.currency1)


def plain_pools(one: Address, other: Address) -> tuple[PoolKey, ...]:
    """The pools of a pair at the usual fees, without a hook."""
    currency0, currency1 = sorted((one, other))
    return tuple(
        PoolKey(currency0, currency1, fee, spacing, NO_HOOK) for fee, spacing in USUAL_TIERS
    )


_SLOTS = (*IMPLEMENTATION_SLOTS, BEACON_SLOT)


def passes_calls_on(hook: HookPassport) -> bool:
    """Whether its code names a place in storage that says whose code runs."""
    proxy = None if hook.code is None else hook.code.proxy
    return proxy is not None and proxy.target is None


async def read_hook_targets(
    reader: Reader, hooks: Sequence[Address]
) -> dict[Address, tuple[Address, ...]]:
    """By hook, the addresses that stand there: implementations, a beacon and what it names.

    One request, two where a hook has a beacon.
    """
    questions = [requests.storage(hook, "0x" + slot.hex()) for hook in hooks for slot in _SLOTS]
    words = [expected(answer, str) for answer in await reader.settle(questions)]
    named = {
        hook: words[at : at + len(_SLOTS)]
        for hook, at in zip(hooks, range(0, len(words), len(_SLOTS)), strict=True)
    }
    beacons = sorted({_address(found[-1]) for found in named.values() if int(found[-1], 16)})
    behind = await _implementations(reader, beacons)
    return {
        hook: (
            *(_address(word) for word in found if int(word, 16)),
            *behind.get(_address(found[-1]), ()),
        )
        for hook, found in named.items()
    }


async def _implementations(
    reader: Reader, beacons: Sequence[Address]
) -> dict[Address, tuple[Address, ...]]:
    """What each beacon names; nothing where it does not answer as a beacon does."""
    if not beacons:
        return {}
    asked = [requests.call(beacon, encode_call("implementation()")) for beacon in beacons]
    answers = await reader.settle(asked)
    return {
        # Whoever wrote the beacon may have it fail in any way: that must blind nobody.
        beacon: () if isinstance(answer, Reverted | RpcRefused) else _word(expected(answer, bytes))
        for beacon, answer in zip(beacons, answers, strict=True)
    }


def _word(answer: bytes) -> tuple[Address, ...]:
    return (_address(answer.hex()),) if len(answer) == 32 else ()


def _address(word: str) -> Address:
    return "0x" + word[-40:]
