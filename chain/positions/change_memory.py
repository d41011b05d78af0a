"""The past changes of positions that are known whole, so that no archive is asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from chain.base.quantity import Known
from chain.base.store import read_as
from chain.history.events import LogPlace, ModifyLiquidityEvent
from chain.math.fees import FeeGrowth
from chain.positions.circumstances import ChangeCircumstances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chain.base.store import Store
    from chain.contracts.networks import Network
    from chain.positions.identity import PositionIdentity

_NAMESPACE = "changes"


class PastChanges(Struct, frozen=True):
    """Every change up to a block of the chain that has this hash there."""

    through: int
    block_hash: str
    events: tuple[tuple[ModifyLiquidityEvent, ChangeCircumstances], ...]


_ChangeRow: TypeAlias = tuple[int, int, str, str, int, int, int, str, int, int, int, int]
"""Its place, the change, its time, the price with source and block, two fee growths, gas."""


class _StoredChanges(Struct, frozen=True):
    through: int
    hash: str
    events: tuple[_ChangeRow, ...]


class ChangeMemory:
    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._sender = network.contracts.position_manager
        self._place = f"{network.chain_id}/{self._sender}"

    def load(self, identities: Iterable[PositionIdentity]) -> dict[int, PastChanges]:
        """What is remembered of these positions, by token id."""
        by_key = {f"{self._place}/{one.token_id}": one for one in identities}
        found: dict[int, PastChanges] = {}
        for key, value in self._store.get_many(_NAMESPACE, by_key).items():
            stored = read_as(_StoredChanges, value)
            if stored is not None:
                identity = by_key[key]
                events = tuple(self._event(identity, row) for row in stored.events)
                found[identity.token_id] = PastChanges(stored.through, stored.hash, events)
        return found

    def save(self, changes: Mapping[int, PastChanges]) -> None:
        values = {
            f"{self._place}/{token_id}": {
                "through": past.through,
                "hash": past.block_hash,
                "events": [_row(event, seen) for event, seen in past.events],
            }
            for token_id, past in changes.items()
        }
        self._store.put_many(_NAMESPACE, values, now=self._clock())

    def _event(
        self, identity: PositionIdentity, row: _ChangeRow
    ) -> tuple[ModifyLiquidityEvent, ChangeCircumstances]:
        place = LogPlace(*row[:4])
        delta, timestamp, sqrt_price, price_source, price_block, growth0, growth1, gas = row[4:]
        event = ModifyLiquidityEvent(
            place,
            identity.pool_id,
            self._sender,
            identity.tick_lower,
            identity.tick_upper,
            delta,
            identity.token_id,
        )
        number = place.block_number
        return event, ChangeCircumstances(
            timestamp,
            Known(sqrt_price, price_source, price_block),
            Known(FeeGrowth(growth0, growth1), "PoolManager storage", number),
            Known(gas, "receipt", number),
        )


def is_whole(seen: ChangeCircumstances) -> bool:
    """Whether nothing is left that another node could still tell."""
    return all(isinstance(one, Known) for one in (seen.sqrt_price, seen.growth_paid, seen.gas))


def _row(event: ModifyLiquidityEvent, seen: ChangeCircumstances) -> list[object]:
    if not (
        isinstance(seen.sqrt_price, Known)
        and isinstance(seen.growth_paid, Known)
        and isinstance(seen.gas, Known)
    ):
        raise TypeError("Only changes known whole are remembered.")
    price, growth = seen.sqrt_price, seen.growth_paid.value
    return [
        *astuple(event.place),
        *(event.liquidity_delta, seen.timestamp),
        *(price.value, price.source, price.block),
        *(*growth, seen.gas.value),
    ]
