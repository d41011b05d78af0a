"""The hours of pools that were read before, so that only new blocks are asked for."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, ValidationError, convert, to_builtins

from chain.base.units import DAY
from chain.history.hours import HourRow, KeptHours, Landmark, RecentSwap, hour_of

if TYPE_CHECKING:
    from chain.base.store import Store
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.history.flows import FeeTerms

MOST_DAYS = 40
"""Rows older than this are forgotten and read again when they are wanted."""

_ROWS, _SWAPS = "pool hours", "pool swaps"


class _StoredHours(Struct, frozen=True):
    since: int
    whole: bool
    last: Landmark
    landmarks: tuple[Landmark, ...]
    rows: tuple[HourRow, ...]
    swaps_since: int


class _SwapColumns(Struct, frozen=True, array_like=True):
    """The fields of many swaps, the first five as differences to the swap before."""

    blocks: list[int]
    times: list[int]
    prices: list[int]
    liquidities: list[int]
    fees: list[int]
    amounts: list[int]
    marks: list[int]
    """One for a direction, two for a time that is estimated."""


class HourMemory:
    """Nothing here is trusted until the chain still has the last block under the same hash.

    Swaps are written before the rows that count them: whatever a killed process or a second one
    leaves behind, swaps beyond the last block of the rows are not looked at, and where fewer are
    there than a row counts the memory goes back to before that hour.
    """

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._place = f"{network.chain_id}/{network.contracts.pool_manager}"

    def load(self, pool_id: PoolId, terms: FeeTerms) -> KeptHours | None:
        found = self._store.read(_StoredHours, _ROWS, self._key(pool_id))
        if found is None:
            return None
        wanted = [row for row in found.rows if row.hour >= found.swaps_since]
        keys = {row.hour: self._key(pool_id, row.hour) for row in wanted}
        stored = self._store.get_many(_SWAPS, keys.values())
        swaps: list[RecentSwap] = []
        lost: int | None = None
        for row in wanted:
            there = _unpacked(stored.get(keys[row.hour]))
            counted = [one for one in there if one.block_number <= found.last.number]
            if len(counted) != row.swaps:
                lost = row.hour
                break
            swaps += counted
        kept = KeptHours(
            found.since,
            found.whole,
            found.last,
            found.landmarks,
            found.rows,
            tuple(swaps),
            found.swaps_since,
        )
        return kept if lost is None else _before(kept, lost, terms)

    def save(self, kept: Mapping[PoolId, KeptHours], changed_since: int) -> None:
        """All of these pools; swaps of hours before the one of this time are already there."""
        now = self._clock()
        changed = hour_of(changed_since)
        swaps = {
            self._key(pool, hour): _packed(list(several))
            for pool, one in kept.items()
            for hour, several in groupby(one.recent, key=lambda swap: hour_of(swap.time))
            if hour >= changed
        }
        self._store.put_many(_SWAPS, swaps, now=now)
        rows = {
            self._key(pool): to_builtins(_stored(one.without_rows_before(_oldest(one))))
            for pool, one in kept.items()
        }
        self._store.put_many(_ROWS, rows, now=now)

    def forget_swaps(self, pool_id: PoolId, hours: Iterable[int]) -> None:
        """Let go of the single swaps of these hours, of which the rows are kept."""
        for hour in hours:
            self._store.forget_key(_SWAPS, self._key(pool_id, hour))

    def _key(self, pool_id: PoolId, hour: int | None = None) -> str:
        place = f"{self._place}/{pool_id}"
        return place if hour is None else f"{place}/{hour}"


def forget_hours(store: Store, *, before: float) -> int:
    """Forget the hours of pools that nobody read since then; of how many pools that was."""
    store.forget_before(_SWAPS, before)
    return store.forget_before(_ROWS, before)


def _before(kept: KeptHours, lost: int, terms: FeeTerms) -> KeptHours | None:
    """As of the newest landmark in an hour before one whose swaps are lost."""
    for landmark in reversed(kept.landmarks):
        if hour_of(landmark.time) < lost:
            return kept.rolled_back(landmark, terms)
    return None


def _oldest(kept: KeptHours) -> int:
    return hour_of(kept.last.time) - MOST_DAYS * DAY


def _stored(kept: KeptHours) -> _StoredHours:
    return _StoredHours(
        kept.since,
        kept.from_first_block,
        kept.last,
        kept.landmarks,
        kept.rows,
        kept.recent_since,
    )


def _packed(swaps: Sequence[RecentSwap]) -> str:
    columns = _SwapColumns(
        blocks=_differences(one.block_number for one in swaps),
        times=_differences(one.time for one in swaps),
        prices=_differences(one.sqrt_price_x96 for one in swaps),
        liquidities=_differences(one.liquidity for one in swaps),
        fees=_differences(one.fee for one in swaps),
        amounts=[one.amount_in for one in swaps],
        marks=[one.zero_for_one + 2 * one.time_estimated for one in swaps],
    )
    text = json.dumps(to_builtins(columns), separators=(",", ":"))
    return b64encode(zlib.compress(text.encode())).decode()


def _unpacked(value: object) -> list[RecentSwap]:
    """What was packed; nothing where that does not read."""
    try:
        text = zlib.decompress(b64decode(convert(value, str), validate=True))
        columns = convert(json.loads(text), _SwapColumns)
        rows = zip(
            accumulate(columns.blocks),
            accumulate(columns.times),
            accumulate(columns.prices),
            accumulate(columns.liquidities),
            accumulate(columns.fees),
            columns.amounts,
            columns.marks,
            strict=True,
        )
        return [
            RecentSwap(block, time, mark >= 2, mark % 2 == 1, amount, price, liquidity, fee)
            for block, time, price, liquidity, fee, amount, mark in rows
        ]
    except (ValidationError, ValueError, zlib.error):
        return []


def _differences(values: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise((0, *values))]
