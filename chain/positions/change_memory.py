"""The past changes of positions: final with or without an archive, so that logs are read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, to_builtins

from chain.base.quantity import Known, Quantity, Unknown
from chain.base.store import Store, read_as
from chain.history.events import LogPlace, ModifyLiquidityEvent
from chain.math.fees import FeeGrowth
from chain.positions.circumstances import ChangeCircumstances

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.positions.identity import PositionIdentity

_NAMESPACE = "changes"

_ASKED_AGAIN_SECONDS = 86_400.0
"""After which a node is asked once more for what it did not tell."""


class PastChanges(Struct, frozen=True):
    """Every change up to a block of the chain that has this hash there; none as yet is none."""

    through: int
    block_hash: str
    events: tuple[tuple[ModifyLiquidityEvent, ChangeCircumstances], ...]
    asked_at: float | None = None
    """When somebody was last asked for what is unknown of them; None where nothing is."""
    asked: tuple[str, ...] = ()
    """Which endpoints were."""

    def is_due(self, endpoints: Sequence[str], now: float) -> bool:
        """Whether what is unknown is worth another question."""
        if self.asked_at is None:
            return False
        return not {*endpoints} <= {*self.asked} or now - self.asked_at >= _ASKED_AGAIN_SECONDS


_Reason: TypeAlias = tuple[str]
"""In place of a number that nobody told."""

_ChangeRow: TypeAlias = tuple[
    int, int, str, str, int, int, int | _Reason, str, int, int | _Reason, int, int | _Reason
]
"""Its place, the change, its time, the price with source and block, two fee growths, gas."""


class _StoredChanges(Struct, frozen=True, omit_defaults=True):
    through: int
    hash: str
    events: tuple[_ChangeRow, ...]
    asked_at: float | None = None
    asked: tuple[str, ...] = ()


class ChangeMemory:
    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._sender = network.contracts.position_manager
        self._place = f"{network.chain_id}/{self._sender}"

    def now(self) -> float:
        return self._clock()

    def load(self, identities: Iterable[PositionIdentity]) -> dict[int, PastChanges]:
        """What is remembered of these positions, by token id."""
        by_key = {f"{self._place}/{one.token_id}": one for one in identities}
        found: dict[int, PastChanges] = {}
        for key, value in self._store.get_many(_NAMESPACE, by_key).items():
            stored = read_as(_StoredChanges, value)
            if stored is not None:
                identity = by_key[key]
                events = tuple(self._event(identity, row) for row in stored.events)
                found[identity.token_id] = PastChanges(
                    stored.through, stored.hash, events, stored.asked_at, stored.asked
                )
        return found

    def save(self, changes: Mapping[int, PastChanges]) -> None:
        values = {
            f"{self._place}/{token_id}": to_builtins(
                _StoredChanges(
                    past.through,
                    past.block_hash,
                    tuple(_row(event, seen) for event, seen in past.events),
                    past.asked_at,
                    past.asked,
                )
            )
            for token_id, past in changes.items()
        }
        self._store.put_many(_NAMESPACE, values, now=self._clock())

    def forget(self, identities: Iterable[PositionIdentity]) -> None:
        keys = [f"{self._place}/{one.token_id}" for one in identities]
        for key in self._store.get_many(_NAMESPACE, keys):
            self._store.forget_key(_NAMESPACE, key)

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
            _as_quantity(sqrt_price, price_source, price_block),
            _as_quantity(growth0, "PoolManager storage", number).map(
                lambda one: FeeGrowth(one, growth1)
            ),
            _as_quantity(gas, "receipt", number),
        )


def is_whole(seen: ChangeCircumstances) -> bool:
    """Whether nothing is left that another node could still tell."""
    return all(isinstance(one, Known) for one in (seen.sqrt_price, seen.growth_paid, seen.gas))


def _as_quantity(value: int | _Reason, source: str, block: int) -> Quantity[int]:
    return Known(value, source, block) if isinstance(value, int) else Unknown(*value)


def _row(event: ModifyLiquidityEvent, seen: ChangeCircumstances) -> _ChangeRow:
    place, price, growth = event.place, seen.sqrt_price, seen.growth_paid
    value, source, block = (
        ((price.reason,), "", 0)
        if isinstance(price, Unknown)
        else (price.value, price.source, price.block or 0)
    )
    growth0, growth1 = ((growth.reason,), 0) if isinstance(growth, Unknown) else growth.value
    return (
        *(place.block_number, place.log_index, place.block_hash, place.transaction_hash),
        *(event.liquidity_delta, seen.timestamp),
        *(value, source, block),
        *(growth0, growth1),
        (seen.gas.reason,) if isinstance(seen.gas, Unknown) else seen.gas.value,
    )
