"""One position at one block: what it holds, what it earned, whether it works, who may touch it."""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from chain.contracts.hooks import HookPassport, hook_passport
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.storage import decode_slot0
from chain.contracts.v3_pool import V3PoolKey
from chain.math.fees import (
    FeeGrowth,
    ProtocolFee,
    fee_growth_inside,
    fees_owed,
    unpack_protocol_fee,
)
from chain.math.liquidity import amounts_for_liquidity
from chain.pools.state import PoolState
from chain.positions.custody import Custody
from chain.positions.identity import PositionIdentity, layout_of
from chain.positions.reference import is_v3
from chain.rpc.records import Block

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


class PoolSnapshot(Struct, frozen=True):
    """What all positions of a pool share at one block."""

    pool_id: PoolId
    key: PoolKey
    sqrt_price_x96: int
    tick: int
    """As the pool keeps it: at a boundary it may be one less than the tick of the price."""
    lp_fee: int
    """Pips the providers take now; of a dynamic-fee pool, what its hook last set."""
    protocol_fee: ProtocolFee
    liquidity: int
    """Of all positions the price is inside of."""
    fee_growth: FeeGrowth
    hook: HookPassport

    @property
    def state(self) -> PoolState:
        return PoolState(
            key=self.key,
            pool_id=self.pool_id,
            sqrt_price_x96=self.sqrt_price_x96,
            tick=self.tick,
            lp_fee=self.lp_fee,
            protocol_fee=self.protocol_fee,
            liquidity=self.liquidity,
        )

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
    fee_growth_inside: FeeGrowth
    status: RangeStatus

    @property
    def token_id(self) -> int:
        """Its number, which is below zero for a position of v3 (`chain.positions.reference`)."""
        return self.identity.token_id

    @property
    def is_v3(self) -> bool:
        return is_v3(self.token_id)

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
        fee_growth_inside=inside,
        status=range_status(pool.tick, identity.tick_lower, identity.tick_upper),
    )


def range_status(tick: int, tick_lower: int, tick_upper: int) -> RangeStatus:
    """By `slot0.tick`, as the pool itself decides whose liquidity is active."""
    if tick < tick_lower:
        return RangeStatus.BELOW
    return RangeStatus.IN_RANGE if tick < tick_upper else RangeStatus.ABOVE
