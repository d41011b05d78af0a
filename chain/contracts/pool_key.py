"""What pools and positions are called: the key of a pool and the hashes that name both."""

from typing import ClassVar, NamedTuple, Protocol

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.networks import Address

DYNAMIC_FEE = 0x800000
"""The flag a key carries in place of a fee when the hook sets it; it is never a fee itself."""

POOL_KEY_TYPES = ("address", "address", "uint24", "int24", "address")

PoolId = str
"""32 bytes as lower-case `0x` hex."""


class CalldataPool(Protocol):
    """A pool as bytes name it."""

    @property
    def currency0(self) -> Address: ...
    @property
    def currency1(self) -> Address: ...
    @property
    def fee(self) -> int: ...
    @property
    def hooks(self) -> Address: ...


class DecodedPoolKey(NamedTuple):
    """A pool, by the five fields that are its identity."""

    currency0: Address
    currency1: Address
    fee: int
    tick_spacing: int
    hooks: Address


class PoolKey(Struct, frozen=True, array_like=True):
    protocol: ClassVar[str] = "v4"
    protocol_within: ClassVar[bool] = False
    """Whether the protocol's part comes out of the fee; in v4 it comes on top."""

    currency0: Address
    currency1: Address
    fee: int
    """Hundredths of a basis point, or `DYNAMIC_FEE`."""
    tick_spacing: int
    hooks: Address

    @property
    def values(self) -> tuple[Address, Address, int, int, Address]:
        """The fields in the order of the ABI."""
        return self.currency0, self.currency1, self.fee, self.tick_spacing, self.hooks

    @property
    def as_written(self) -> CalldataPool:
        """What names it in calldata."""
        return DecodedPoolKey(*self.values)

    @property
    def pool_id(self) -> PoolId:
        """`keccak256(abi.encode(key))`."""
        return "0x" + keccak(abi.encode(POOL_KEY_TYPES, self.values)).hex()

    @property
    def has_dynamic_fee(self) -> bool:
        return self.fee == DYNAMIC_FEE


def position_key(owner: Address, tick_lower: int, tick_upper: int, token_id: int) -> bytes:
    """The PoolManager's name for a position: `keccak256(owner ‖ lower ‖ upper ‖ salt)`, packed.

    For an NFT the owner is the PositionManager and the salt its token id.
    """
    return keccak(
        abi.address_bytes(owner)
        + tick_lower.to_bytes(3, "big", signed=True)
        + tick_upper.to_bytes(3, "big", signed=True)
        + token_id.to_bytes(32, "big")
    )
