"""A pool of Uniswap v3: a contract, whose address follows from its tokens and its fee."""

from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address
from chain.contracts.pool_key import CalldataPool, PoolId, PoolKey

POOL_CODE: Final = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")
"""Of the code every pool is made by; the position manager finds its pools with the same."""

_ADDRESSES_KEPT = 50_000


class DecodedV3Pool(NamedTuple):
    """A pool as calldata of v3 names it."""

    currency0: Address
    currency1: Address
    fee: int

    @property
    def hooks(self) -> Address:
        return NO_HOOK


class V3PoolKey(PoolKey, frozen=True, array_like=True):
    """What a pool is made of, in the shape of v4's, with the address that names it in v3."""

    protocol: ClassVar[str] = "v3"
    protocol_within: ClassVar[bool] = True

    pool: Address

    @property
    def as_written(self) -> CalldataPool:
        return DecodedV3Pool(self.currency0, self.currency1, self.fee)

    @property
    def pool_id(self) -> PoolId:
        return self.pool


def v3_pool_key(
    factory: Address, token0: Address, token1: Address, fee: int, tick_spacing: int
) -> V3PoolKey:
    pool = v3_pool_address(factory, token0, token1, fee)
    return V3PoolKey(token0, token1, fee, tick_spacing, NO_HOOK, pool)


@lru_cache(maxsize=_ADDRESSES_KEPT)
def v3_pool_address(factory: Address, token0: Address, token1: Address, fee: int) -> Address:
    """Where CREATE2 put the pool."""
    salt = keccak(abi.encode(("address", "address", "uint24"), (token0, token1, fee)))
    made = keccak(b"\xff" + abi.address_bytes(factory) + salt + POOL_CODE)
    return "0x" + made[12:].hex()


def v3_position_key(owner: Address, tick_lower: int, tick_upper: int) -> bytes:
    """A pool's name for all liquidity that one owner has in one range."""
    return keccak(
        abi.address_bytes(owner)
        + tick_lower.to_bytes(3, "big", signed=True)
        + tick_upper.to_bytes(3, "big", signed=True)
    )
