"""What happened in pools and to positions, whichever protocol they are of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId
from chain.math.liquidity import Amounts
from chain.read.block_reader import EventError
from chain.read.logs import Topics
from chain.rpc.records import Log


class LogPlace(Struct, frozen=True, order=True):
    """Where in the chain an event stands; events compare in the order they happened."""

    block_number: int
    log_index: int
    block_hash: str
    transaction_hash: str


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


class PoolLogs(Struct, frozen=True):
    """Whose logs to ask for, and what they must carry."""

    address: Address | tuple[Address, ...]
    swaps: Topics
    opened: Topics
    paid_otherwise: Topics
    """What changes the fees that liquidity was paid, and is no swap at the usual terms."""


class PoolMark(Struct, frozen=True, array_like=True):
    """What the contract keeps of a pool at a block."""

    sqrt_price_x96: int
    growth0: int
    growth1: int


NOTHING = Amounts(0, 0)

NOT_ADDED_UP = Unknown(
    "the endpoint leaves logs out: they do not add up to the position's liquidity"
)
"""Why nothing that rests on a position's changes is known."""


class LiquidityChange(Struct, frozen=True):
    place: LogPlace
    timestamp: int
    liquidity_delta: int
    """Zero where fees alone were collected."""
    amounts: Quantity[Amounts]
    """Put in where liquidity was added, taken out where it was removed; fees apart."""
    fees: Quantity[Amounts]
    """Paid out by this change."""
    gas: Quantity[int]
    sqrt_price: Quantity[int]
    """Of the pool, when it happened."""


class PositionPast(Struct, frozen=True):
    """What logs tell of one position."""

    changes: tuple[LiquidityChange, ...] | Unknown
    """Oldest first; unknown where no endpoint gives the logs."""
    booked: tuple[LiquidityChange, ...] = ()
    """As a ledger tells them: what was taken out of the range is, once it was collected."""


def total(parts: Sequence[Quantity[Amounts]]) -> Quantity[Amounts]:
    """The sum, unknown when any part is."""
    return combine(_sum, *parts) if parts else Known(NOTHING, "no change")


def _sum(*parts: Amounts) -> Amounts:
    return Amounts(sum(part.amount0 for part in parts), sum(part.amount1 for part in parts))


def read_event(log: Log, topic: str, indexed: tuple[str, ...], data: tuple[str, ...]) -> list[Any]:
    """The indexed values one by one, then the tuple of those in the data."""
    if len(log.topics) != len(indexed) + 1 or log.topics[0] != topic:
        raise EventError("A log was taken for an event it is not.")
    try:
        return [*_indexed(indexed, log.topics[1:]), abi.decode(data, log.data)]
    except abi.AbiError as error:
        raise EventError(f"A log of a pool does not decode: {error}") from error


@lru_cache(maxsize=1_000)
def _indexed(types: tuple[str, ...], topics: tuple[str, ...]) -> tuple[Any, ...]:
    """Decoded once for the many logs of one pool and one sender."""
    return abi.decode(types, b"".join(bytes.fromhex(word[2:]) for word in topics))


def log_place(log: Log) -> LogPlace:
    return LogPlace(log.block_number, log.log_index, log.block_hash, log.transaction_hash)
