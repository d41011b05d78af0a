"""The swaps of a pool that were read before, so that only new blocks are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct, to_builtins
from msgspec.structs import astuple

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


_SwapRow: TypeAlias = tuple[int, int, str, str, str, int, int, int, int, int, int, int, bool]
"""The fields of its place, of the swap but for its pool, and of its time."""


class _StoredSwaps(Struct, frozen=True):
    first: int
    last: int
    hash: str
    swaps: tuple[_SwapRow, ...]


class SwapMemory:
    """Nothing here is trusted until the chain still has the last block under the same hash."""

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._place = f"{network.chain_id}/{network.contracts.pool_manager}"

    def load(self, pool_id: PoolId) -> RememberedSwaps | None:
        found = self._store.read(_StoredSwaps, _NAMESPACE, f"{self._place}/{pool_id}")
        if found is None:
            return None
        swaps = tuple(_swap(pool_id, row) for row in found.swaps)
        return RememberedSwaps(found.first, found.last, found.hash, swaps)

    def save(self, pool_id: PoolId, remembered: RememberedSwaps) -> None:
        first, swaps = remembered.first, remembered.swaps
        if len(swaps) > MOST_REMEMBERED:
            # Blocks are remembered whole: the first one kept must not have lost a swap.
            first = swaps[-MOST_REMEMBERED - 1].swap.place.block_number + 1
            swaps = tuple(timed for timed in swaps if timed.swap.place.block_number >= first)
        rows = tuple(_row(timed) for timed in swaps)
        value = to_builtins(_StoredSwaps(first, remembered.last, remembered.last_hash, rows))
        self._store.put(_NAMESPACE, f"{self._place}/{pool_id}", value, now=self._clock())


def forget_swaps(store: Store, *, before: float) -> int:
    """Forget the swaps of pools that nobody read since then; of how many pools that was."""
    return store.forget_before(_NAMESPACE, before)


def _row(timed: TimedSwap) -> _SwapRow:
    place, _, *swapped = astuple(timed.swap)
    return cast("_SwapRow", (*astuple(place), *swapped, timed.time, timed.time_estimated))


def _swap(pool_id: PoolId, row: _SwapRow) -> TimedSwap:
    return TimedSwap(SwapEvent(LogPlace(*row[:4]), pool_id, *row[4:11]), *row[11:])
