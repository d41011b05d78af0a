"""Where the PoolManager keeps its state, and how its packed words read.

`extsload` answers any number of these slots in one call, far cheaper than a call per field.
"""

from msgspec import Struct

from chain.contracts.addresses import keccak
from chain.contracts.pool_key import PoolId

EXTSLOAD = "extsload(bytes32[])"

POOLS_SLOT = 6
"""The slot of `mapping(PoolId => Pool.State) _pools` in the PoolManager."""

_FEE_GROWTH_GLOBAL_OFFSET = 1
_LIQUIDITY_OFFSET = 3
_TICKS_OFFSET = 4
_BITMAP_OFFSET = 5
_POSITIONS_OFFSET = 6

_WORDS = 2**256


class PoolSlots(Struct, frozen=True, gc=False):
    slot0: int
    fee_growth_global0: int
    fee_growth_global1: int
    liquidity: int


class TickSlots(Struct, frozen=True, gc=False):
    liquidity: int
    """Gross in the low half of the word, net (signed) in the high half."""
    fee_growth_outside0: int
    fee_growth_outside1: int


class PositionSlots(Struct, frozen=True, gc=False):
    liquidity: int
    fee_growth_inside0_last: int
    fee_growth_inside1_last: int


class Slot0(Struct, frozen=True):
    sqrt_price_x96: int
    tick: int
    protocol_fee: int
    """Two directions of 12 bits each: zero-for-one low, one-for-zero high."""
    lp_fee: int


class TickLiquidity(Struct, frozen=True):
    gross: int
    net: int


class PositionInfo(Struct, frozen=True, gc=False):
    """The word the PositionManager keeps per token id."""

    tick_lower: int
    tick_upper: int
    has_subscriber: bool
    pool_id_prefix: bytes
    """The first 25 bytes of the pool id: enough to look the key up, not to name the pool."""


def pool_slots(pool_id: PoolId) -> PoolSlots:
    base = _pool_base(pool_id)
    return PoolSlots(
        slot0=base,
        fee_growth_global0=_offset(base, _FEE_GROWTH_GLOBAL_OFFSET),
        fee_growth_global1=_offset(base, _FEE_GROWTH_GLOBAL_OFFSET + 1),
        liquidity=_offset(base, _LIQUIDITY_OFFSET),
    )


def tick_slots(pool_id: PoolId, tick: int) -> TickSlots:
    ticks = _offset(_pool_base(pool_id), _TICKS_OFFSET)
    base = _mapped(_signed_word(tick), ticks)
    return TickSlots(base, _offset(base, 1), _offset(base, 2))


def bitmap_slot(pool_id: PoolId, word_position: int) -> int:
    """The word with the initialised bits of 256 neighbouring compressed ticks."""
    return _mapped(_signed_word(word_position), _offset(_pool_base(pool_id), _BITMAP_OFFSET))


def position_slots(pool_id: PoolId, key: bytes) -> PositionSlots:
    """The slots of a position by its `position_key`."""
    base = _mapped(key, _offset(_pool_base(pool_id), _POSITIONS_OFFSET))
    return PositionSlots(base, _offset(base, 1), _offset(base, 2))


def decode_slot0(word: int) -> Slot0:
    return Slot0(
        sqrt_price_x96=word % 2**160,
        tick=_signed(word >> 160, 24),
        protocol_fee=word >> 184 & 0xFFFFFF,
        lp_fee=word >> 208 & 0xFFFFFF,
    )


def decode_tick_liquidity(word: int) -> TickLiquidity:
    return TickLiquidity(gross=word % 2**128, net=_signed(word >> 128, 128))


def decode_position_info(word: int) -> PositionInfo:
    return PositionInfo(
        tick_lower=_signed(word >> 8, 24),
        tick_upper=_signed(word >> 32, 24),
        has_subscriber=word & 0xFF != 0,
        pool_id_prefix=(word >> 56).to_bytes(25, "big"),
    )


def slot_bytes(slot: int) -> bytes:
    """A slot number as `extsload` takes it."""
    return slot.to_bytes(32, "big")


def _pool_base(pool_id: PoolId) -> int:
    return _mapped(bytes.fromhex(pool_id.removeprefix("0x")), POOLS_SLOT)


def _mapped(key: bytes, slot: int) -> int:
    """Where Solidity puts `mapping[key]` for a mapping at `slot`."""
    return int.from_bytes(keccak(key + slot_bytes(slot)), "big")


def _offset(base: int, words: int) -> int:
    return (base + words) % _WORDS


def _signed_word(value: int) -> bytes:
    return value.to_bytes(32, "big", signed=True)


def _signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value
