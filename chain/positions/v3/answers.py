"""What the contracts of Uniswap v3 are asked about a position, and what they answer."""

from functools import lru_cache

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.v3_pool import v3_pool_address, v3_position_key
from chain.math.fees import FeeGrowth
from chain.pools.v3 import TICK_TYPES, pool_call, told_by
from chain.rpc.multicall import Call, CallOutcome

_CALLS_KEPT = 50_000
_WORD = 32
_OWNED = "tokenOfOwnerByIndex(address,uint256)"
_POSITION = abi.selector("positions(uint256)")
_POSITION_TYPES = (
    *("uint96", "address", "address", "address", "uint24", "int24", "int24"),
    *("uint128", "uint256", "uint256", "uint128", "uint128"),
)
_IN_POOL_TYPES = ("uint128", "uint256", "uint256", "uint128", "uint128")


class V3Place(Struct, frozen=True, array_like=True):
    """What never changes about a position: its pool and its range."""

    token0: Address
    token1: Address
    fee: int
    tick_lower: int
    tick_upper: int


class ManagerRecord(Struct, frozen=True):
    """What the position manager keeps of one token."""

    approved: Address
    place: V3Place
    liquidity: int
    growth_last: FeeGrowth
    owed0: int
    owed1: int


class PoolRecord(Struct, frozen=True):
    """What a pool keeps of all liquidity in one range that the position manager brought."""

    liquidity: int
    growth_last: FeeGrowth
    owed0: int
    owed1: int


class PlaceCalls(Struct, frozen=True):
    """All that a pool is asked for one position."""

    slot0: Call
    liquidity: Call
    growth0: Call
    growth1: Call
    spacing: Call
    lower: Call
    upper: Call
    in_pool: Call

    @property
    def all(self) -> tuple[Call, ...]:
        pool = (self.slot0, self.liquidity, self.growth0, self.growth1, self.spacing)
        return (*pool, self.lower, self.upper, self.in_pool)


def owned_call(manager: Address, owner: Address, index: int) -> Call:
    """Which token of a wallet comes at this place, counted from zero."""
    return Call(manager, abi.encode_call(_OWNED, owner, index))


@lru_cache(maxsize=_CALLS_KEPT)
def position_call(manager: Address, token_id: int) -> Call:
    return Call(manager, _POSITION + token_id.to_bytes(_WORD, "big"))


@lru_cache(maxsize=_CALLS_KEPT)
def place_calls(factory: Address, manager: Address, place: V3Place) -> PlaceCalls:
    pool = v3_pool_address(factory, place.token0, place.token1, place.fee)
    key = v3_position_key(manager, place.tick_lower, place.tick_upper)

    return PlaceCalls(
        slot0=pool_call(pool, "slot0()"),
        liquidity=pool_call(pool, "liquidity()"),
        growth0=pool_call(pool, "feeGrowthGlobal0X128()"),
        growth1=pool_call(pool, "feeGrowthGlobal1X128()"),
        spacing=pool_call(pool, "tickSpacing()"),
        lower=pool_call(pool, "ticks(int24)", place.tick_lower),
        upper=pool_call(pool, "ticks(int24)", place.tick_upper),
        in_pool=pool_call(pool, "positions(bytes32)", key),
    )


def decode_position(outcome: CallOutcome) -> ManagerRecord | None:
    """None for a token that does not exist, of which the contract refuses to speak."""
    if not outcome.success:
        return None
    told = abi.decode(_POSITION_TYPES, outcome.data)
    _, approved, token0, token1, fee, lower, upper, liquidity, last0, last1, owed0, owed1 = told
    place = V3Place(token0, token1, fee, lower, upper)
    return ManagerRecord(approved, place, liquidity, FeeGrowth(last0, last1), owed0, owed1)


def decode_in_pool(outcome: CallOutcome) -> PoolRecord:
    liquidity, last0, last1, owed0, owed1 = abi.decode(_IN_POOL_TYPES, told_by(outcome))
    return PoolRecord(liquidity, FeeGrowth(last0, last1), owed0, owed1)


def decode_growth_outside(outcome: CallOutcome) -> FeeGrowth:
    _, _, outside0, outside1, *_ = abi.decode(TICK_TYPES, told_by(outcome))
    return FeeGrowth(outside0, outside1)
