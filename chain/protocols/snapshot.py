"""One position at one block: what never changes, what it holds and earned, who may touch it."""

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from chain.base.units import Known, Quantity, Units, Unknown
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.storage import (
    PositionInfo,
)
from chain.math.liquidity import Amounts
from chain.protocols.custody import Custody
from chain.protocols.past import NOTHING
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import PositionRef
from chain.protocols.rows import row_named
from chain.rpc.records import Block

_POOLS_KEPT = 20_000


class PositionIdentity(Struct, frozen=True, gc=False):
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
    return PositionIdentity(ref, *_named(key), tick_lower, tick_upper)


# Thousands of positions share a pool: its key is hashed, and kept, once.
@lru_cache(maxsize=_POOLS_KEPT)
def _named(key: PoolKey) -> tuple[PoolKey, PoolId]:
    return key, key.pool_id


class RangeStatus(StrEnum):
    BELOW = "below"
    """The price is under the range: the position is all currency0."""
    IN_RANGE = "in range"
    ABOVE = "above"
    """The price is over the range: the position is all currency1."""


class Reward(Struct, frozen=True, gc=False):
    """A coin owed beside the pair's two tokens, by the contract that holds the position for its
    owner."""

    token: Address
    amount: int


class PositionSnapshot(Struct, frozen=True, gc=False):
    identity: PositionIdentity
    block: Block
    pool: PoolSnapshot
    custody: Custody
    liquidity: Units
    amount0: Units
    amount1: Units
    """What burning pays besides the fees, where no hook takes a part."""
    fees0: int
    fees1: int
    """Uncollected, to the last unit; where `withdrawn` is unknown, together with it."""
    status: RangeStatus
    withdrawn: Quantity[Amounts] = Known(NOTHING, "none waits")
    """Taken out of the range and not collected yet, which v3 keeps beside the fees."""
    rewards: tuple[Reward, ...] = ()

    @property
    def ref(self) -> PositionRef:
        return self.identity.ref

    @property
    def fees(self) -> Quantity[Amounts]:
        """Uncollected; unknown where they cannot be told from what was withdrawn."""
        fees = Amounts(self.fees0, self.fees1)
        read = self.contracts[0], self.block.number, float(self.block.timestamp)
        return (
            self.withdrawn.map(lambda _: fees)
            if isinstance(self.withdrawn, Unknown)
            else Known(fees, *read)
        )

    @property
    def collectable(self) -> Amounts:
        """All that a collect pays: the fees, and what was withdrawn."""
        fees = Amounts(self.fees0, self.fees1)
        withdrawn = self.withdrawn
        return fees if isinstance(withdrawn, Unknown) else fees.plus(withdrawn.value)

    @property
    def inside(self) -> Amounts:
        """All that closing pays, where no hook takes a part."""
        return self.collectable.plus(Amounts(self.amount0, self.amount1))

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
        return row_named(self.ref.protocol).contracts

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


def range_status(tick: int, tick_lower: int, tick_upper: int) -> RangeStatus:
    """By `slot0.tick`, as the pool itself decides whose liquidity is active."""
    if tick < tick_lower:
        return RangeStatus.BELOW
    return RangeStatus.IN_RANGE if tick < tick_upper else RangeStatus.ABOVE
