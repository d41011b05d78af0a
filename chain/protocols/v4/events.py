"""The events of Uniswap v4's PoolManager."""

from __future__ import annotations

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.protocols.past import LogPlace, SwapEvent, log_place, read_event
from chain.read.block_reader import EventError
from chain.rpc.records import Log

INITIALIZE = abi.topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
SWAP = abi.topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
MODIFY_LIQUIDITY = abi.topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
DONATE = abi.topic("Donate(bytes32,address,uint256,uint256)")


class InitializeEvent(Struct, frozen=True):
    place: LogPlace
    key: PoolKey
    sqrt_price_x96: int
    tick: int


class ModifyLiquidityEvent(Struct, frozen=True):
    place: LogPlace
    pool_id: PoolId
    sender: Address
    tick_lower: int
    tick_upper: int
    liquidity_delta: int
    salt: int
    """The token id when the PositionManager is the sender."""


def initialize_event(log: Log) -> InitializeEvent:
    pool_id, currency0, currency1, rest = read_event(
        log,
        INITIALIZE,
        ("bytes32", "address", "address"),
        ("uint24", "int24", "address", "uint160", "int24"),
    )
    fee, tick_spacing, hooks, sqrt_price, tick = rest
    key = PoolKey(currency0, currency1, fee, tick_spacing, hooks)
    if key.pool_id != _hex(pool_id):
        raise EventError("An Initialize log names a pool id that is not the id of its key.")
    return InitializeEvent(log_place(log), key, sqrt_price, tick)


def swap_event(log: Log) -> SwapEvent:
    pool_id, sender, rest = read_event(
        log,
        SWAP,
        ("bytes32", "address"),
        ("int128", "int128", "uint160", "uint128", "int24", "uint24"),
    )
    return SwapEvent(log_place(log), _hex(pool_id), sender, *rest)


def modify_liquidity_event(log: Log) -> ModifyLiquidityEvent:
    pool_id, sender, rest = read_event(
        log, MODIFY_LIQUIDITY, ("bytes32", "address"), ("int24", "int24", "int256", "uint256")
    )
    return ModifyLiquidityEvent(log_place(log), _hex(pool_id), sender, *rest)


def _hex(word: bytes) -> PoolId:
    return "0x" + word.hex()
