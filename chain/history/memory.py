"""The swaps of a pool that were read before, so that only new blocks are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.history.events import LogPlace, SwapEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.base.store import Store
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId

MOST_REMEMBERED = 20_000
"""Older swaps than these are forgotten and read again when they are wanted."""

_NAMESPACE = "swaps"


class TimedSwap(Struct, frozen=True):
    swap: SwapEvent
    time: int
    time_estimated: bool = False
    """Whether the time is interpolated between blocks whose time was read."""


class RememberedSwaps(Struct, frozen=True):
    """Every swap of the blocks `first` to `last` on the chain whose last of them has this hash."""

    first: int
    last: int
    last_hash: str
    swaps: tuple[TimedSwap, ...]


class SwapMemory:
    """Nothing here is trusted until the chain still has the last block under the same hash."""

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._place = f"{network.chain_id}/{network.contracts.pool_manager}"

    def load(self, pool_id: PoolId) -> RememberedSwaps | None:
        match self._store.get(_NAMESPACE, f"{self._place}/{pool_id}"):
            case {
                "first": int() as first,
                "last": int() as last,
                "hash": str() as last_hash,
                "swaps": [*rows],
            }:
                swaps = tuple(_swap(pool_id, row) for row in rows)
                known = tuple(swap for swap in swaps if swap is not None)
                if len(known) == len(rows):
                    return RememberedSwaps(first, last, last_hash, known)
        return None

    def save(self, pool_id: PoolId, remembered: RememberedSwaps) -> None:
        first, swaps = remembered.first, remembered.swaps
        if len(swaps) > MOST_REMEMBERED:
            # Blocks are remembered whole: the first one kept must not have lost a swap.
            first = swaps[-MOST_REMEMBERED - 1].swap.place.block_number + 1
            swaps = tuple(timed for timed in swaps if timed.swap.place.block_number >= first)
        value = {
            "first": first,
            "last": remembered.last,
            "hash": remembered.last_hash,
            "swaps": [_row(timed) for timed in swaps],
        }
        self._store.put(_NAMESPACE, f"{self._place}/{pool_id}", value, now=self._clock())


def forget_swaps(store: Store, *, before: float) -> int:
    """Forget the swaps of pools that nobody read since then; of how many pools that was."""
    return store.forget_before(_NAMESPACE, before)


def _row(timed: TimedSwap) -> list[object]:
    swap, place = timed.swap, timed.swap.place
    return [
        place.block_number,
        place.log_index,
        place.block_hash,
        place.transaction_hash,
        swap.sender,
        swap.amount0,
        swap.amount1,
        swap.sqrt_price_x96,
        swap.liquidity,
        swap.tick,
        swap.fee,
        timed.time,
        timed.time_estimated,
    ]


def _swap(pool_id: PoolId, row: object) -> TimedSwap | None:
    match row:
        case [
            int() as block_number,
            int() as log_index,
            str() as block_hash,
            str() as transaction_hash,
            str() as sender,
            int() as amount0,
            int() as amount1,
            int() as sqrt_price_x96,
            int() as liquidity,
            int() as tick,
            int() as fee,
            int() as time,
            bool() as estimated,
        ]:
            place = LogPlace(block_number, log_index, block_hash, transaction_hash)
            swap = SwapEvent(
                place, pool_id, sender, amount0, amount1, sqrt_price_x96, liquidity, tick, fee
            )
            return TimedSwap(swap, time, estimated)
    return None
