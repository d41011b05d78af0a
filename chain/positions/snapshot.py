"""One position at one block: what never changes, what it holds and earned, who may touch it."""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import astuple

from chain.contracts.hooks import HookPassport, hook_passport
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey, position_key
from chain.contracts.storage import (
    PoolSlots,
    PositionInfo,
    PositionSlots,
    TickSlots,
    decode_slot0,
    pool_slots,
    position_slots,
    tick_slots,
)
from chain.contracts.v3_pool import V3PoolKey
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed, unpack_protocol_fee
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.state import PoolState
from chain.positions.custody import Custody
from chain.protocols.reference import PositionRef, is_v3, v4_token_id
from chain.rpc.records import Block

_LAYOUTS_KEPT = 50_000


class PositionIdentity(Struct, frozen=True):
    ref: PositionRef
    pool_key: PoolKey
    pool_id: PoolId
    tick_lower: int
    tick_upper: int

    def __hash__(self) -> int:
        # The pool's id stands for its key, whose five parts would be hashed anew every time.
        return hash((self.ref, self.pool_id))

    def agrees_with(self, info: PositionInfo) -> bool:
        """Whether the word the PositionManager keeps for this token tells the same position.

        The word holds 25 bytes of the pool id, so a remembered key cannot be passed off as another.
        """
        return (
            info.tick_lower == self.tick_lower
            and info.tick_upper == self.tick_upper
            and self.pool_id.startswith("0x" + info.pool_id_prefix.hex())
        )


def identify(ref: PositionRef, key: PoolKey, tick_lower: int, tick_upper: int) -> PositionIdentity:
    return PositionIdentity(ref, key, key.pool_id, tick_lower, tick_upper)


class PositionLayout(Struct, frozen=True):
    """Where the PoolManager stores a position, and the prices at the ends of its range."""

    pool: PoolSlots
    lower: TickSlots
    upper: TickSlots
    position: PositionSlots
    sqrt_price_lower: int
    sqrt_price_upper: int
    slots: tuple[int, ...]
    """Every word that amounts, fees and range status are computed from."""


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
        slots=(
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
        ),
    )


_pool_slots = lru_cache(maxsize=_LAYOUTS_KEPT)(pool_slots)


STORAGE = "PoolManager storage"
CUSTODY = "PositionManager"
V3_POOL = "the pool's contract"
V3_CUSTODY = "NonfungiblePositionManager"


class RangeStatus(StrEnum):
    BELOW = "below"
    """The price is under the range: the position is all currency0."""
    IN_RANGE = "in range"
    ABOVE = "above"
    """The price is over the range: the position is all currency1."""


class PoolSnapshot(PoolState, frozen=True):
    """What all positions of a pool share at one block."""

    fee_growth: FeeGrowth
    hook: HookPassport

    @property
    def state(self) -> PoolState:
        return PoolState(*astuple(self)[: len(PoolState.__struct_fields__)])

    @property
    def tier(self) -> int:
        """What the pool is known by: the whole fee in v3, what providers take now in v4."""
        return self.key.fee if isinstance(self.key, V3PoolKey) else self.lp_fee


class PositionSnapshot(Struct, frozen=True):
    identity: PositionIdentity
    block: Block
    pool: PoolSnapshot
    custody: Custody
    liquidity: int
    amount0: int
    amount1: int
    """What burning pays besides the fees, where no hook takes a part."""
    fees0: int
    fees1: int
    """Uncollected, to the last unit."""
    status: RangeStatus

    @property
    def ref(self) -> PositionRef:
        return self.identity.ref

    @property
    def is_v3(self) -> bool:
        return is_v3(self.ref)

    @property
    def owner(self) -> Address:
        return self.custody.owner

    @property
    def in_range(self) -> bool:
        return self.status is RangeStatus.IN_RANGE

    @property
    def share(self) -> Fraction:
        """Of the liquidity that earns fees now; nothing while out of range."""
        if not self.in_range or not self.pool.liquidity:
            return Fraction(0)
        return Fraction(self.liquidity, self.pool.liquidity)

    @property
    def delta(self) -> int:
        """Units of currency0 by which the value moves when its price moves by one.

        The derivative of L(2√P − √Pa − P/√Pb) is the amount of currency0 itself.
        """
        return self.amount0

    @property
    def contracts(self) -> tuple[str, str]:
        """Who tells what it holds, and who whose it is."""
        return (V3_POOL, V3_CUSTODY) if self.is_v3 else (STORAGE, CUSTODY)

    @property
    def sources(self) -> dict[str, str]:
        """Where each group of numbers was read, and at which block."""
        at = f"block {self.block.number}"
        storage, custody = self.contracts
        return {
            "amounts": f"{storage}, {at}",
            "fees": f"{storage}, {at}",
            "price": f"{storage}, {at}",
            "owner": f"{custody}.ownerOf, {at}",
        }


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


def range_status(tick: int, tick_lower: int, tick_upper: int) -> RangeStatus:
    """By `slot0.tick`, as the pool itself decides whose liquidity is active."""
    if tick < tick_lower:
        return RangeStatus.BELOW
    return RangeStatus.IN_RANGE if tick < tick_upper else RangeStatus.ABOVE
