"""The PoolManager's events, decoded from logs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.pool_key import PoolId, PoolKey
from chain.read.block_reader import EventError

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.rpc.records import Log

INITIALIZE = abi.topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
SWAP = abi.topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
MODIFY_LIQUIDITY = abi.topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
DONATE = abi.topic("Donate(bytes32,address,uint256,uint256)")


class LogPlace(Struct, frozen=True, order=True):
    """Where in the chain an event stands; events compare in the order they happened."""

    block_number: int
    log_index: int
    block_hash: str
    transaction_hash: str


class InitializeEvent(Struct, frozen=True):
    place: LogPlace
    key: PoolKey
    sqrt_price_x96: int
    tick: int


class PricedSwap(Protocol):
    """What a swap tells of the price and of the fees, however much else is known of it."""

    @property
    def zero_for_one(self) -> bool: ...
    @property
    def amount_in(self) -> int: ...
    @property
    def sqrt_price_x96(self) -> int: ...
    @property
    def liquidity(self) -> int: ...
    @property
    def fee(self) -> int: ...


class SwapEvent(Struct, frozen=True):
    place: LogPlace
    pool_id: PoolId
    sender: Address
    amount0: int
    """What the swapper received, negative for what they paid; so is `amount1`."""
    amount1: int
    sqrt_price_x96: int
    """After the swap; so are liquidity and tick."""
    liquidity: int
    tick: int
    fee: int
    """Pips of the input, liquidity providers' and protocol's together."""

    @property
    def zero_for_one(self) -> bool:
        return self.amount0 < 0

    @property
    def amount_in(self) -> int:
        """Units paid, fee included, of the currency the direction names."""
        return -self.amount0 if self.zero_for_one else -self.amount1


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
    pool_id, currency0, currency1, rest = _read(
        log,
        INITIALIZE,
        ("bytes32", "address", "address"),
        ("uint24", "int24", "address", "uint160", "int24"),
    )
    fee, tick_spacing, hooks, sqrt_price, tick = rest
    key = PoolKey(currency0, currency1, fee, tick_spacing, hooks)
    if key.pool_id != _hex(pool_id):
        raise EventError("An Initialize log names a pool id that is not the id of its key.")
    return InitializeEvent(_place(log), key, sqrt_price, tick)


def swap_event(log: Log) -> SwapEvent:
    pool_id, sender, rest = _read(
        log,
        SWAP,
        ("bytes32", "address"),
        ("int128", "int128", "uint160", "uint128", "int24", "uint24"),
    )
    return SwapEvent(_place(log), _hex(pool_id), sender, *rest)


def modify_liquidity_event(log: Log) -> ModifyLiquidityEvent:
    pool_id, sender, rest = _read(
        log, MODIFY_LIQUIDITY, ("bytes32", "address"), ("int24", "int24", "int256", "uint256")
    )
    return ModifyLiquidityEvent(_place(log), _hex(pool_id), sender, *rest)


def _read(log: Log, topic: str, indexed: tuple[str, ...], data: tuple[str, ...]) -> list[Any]:
    """The indexed values one by one, then the tuple of those in the data."""
    if len(log.topics) != len(indexed) + 1 or log.topics[0] != topic:
        raise EventError("A log was taken for an event it is not.")
    try:
        return [*_indexed(indexed, log.topics[1:]), abi.decode(data, log.data)]
    except abi.AbiError as error:
        raise EventError(f"A log of the PoolManager does not decode: {error}") from error


@lru_cache(maxsize=1_000)
def _indexed(types: tuple[str, ...], topics: tuple[str, ...]) -> tuple[Any, ...]:
    """Decoded once for the many logs of one pool and one sender."""
    return abi.decode(types, b"".join(bytes.fromhex(word[2:]) for word in topics))


def _place(log: Log) -> LogPlace:
    return LogPlace(log.block_number, log.log_index, log.block_hash, log.transaction_hash)


def _hex(word: bytes) -> PoolId:
    return "0x" + word.hex()
