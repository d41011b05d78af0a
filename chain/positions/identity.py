"""What never changes about a position: its pool, its range, and where its state is stored."""

from functools import lru_cache

from msgspec import Struct

from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey, position_key
from chain.contracts.storage import (
    PoolSlots,
    PositionInfo,
    PositionSlots,
    TickSlots,
    pool_slots,
    position_slots,
    tick_slots,
)
from chain.math.ticks import sqrt_price_at_tick

_LAYOUTS_KEPT = 50_000


class PositionIdentity(Struct, frozen=True):
    token_id: int
    pool_key: PoolKey
    pool_id: PoolId
    tick_lower: int
    tick_upper: int

    def __hash__(self) -> int:
        # The pool's id stands for its key, whose five parts would be hashed anew every time.
        return hash((self.token_id, self.pool_id))

    def agrees_with(self, info: PositionInfo) -> bool:
        """Whether the word the PositionManager keeps for this token tells the same position.

        The word holds 25 bytes of the pool id, so a remembered key cannot be passed off as another.
        """
        return (
            info.tick_lower == self.tick_lower
            and info.tick_upper == self.tick_upper
            and self.pool_id.startswith("0x" + info.pool_id_prefix.hex())
        )


def identify(token_id: int, key: PoolKey, tick_lower: int, tick_upper: int) -> PositionIdentity:
    return PositionIdentity(token_id, key, key.pool_id, tick_lower, tick_upper)


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
        position_manager, identity.tick_lower, identity.tick_upper, identity.token_id
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
