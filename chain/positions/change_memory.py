"""The past changes of positions that are known whole, so that no archive is asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known
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
            past = self._past(by_key[key], value)
            if past is not None:
                found[by_key[key].token_id] = past
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

    def _past(self, identity: PositionIdentity, value: object) -> PastChanges | None:
        match value:
            case {"through": int() as through, "hash": str() as block_hash, "events": [*rows]}:
                events = [self._event(identity, row) for row in rows]
                known = tuple(event for event in events if event is not None)
                if len(known) == len(rows):
                    return PastChanges(through, block_hash, known)
        return None

    def _event(
        self, identity: PositionIdentity, row: object
    ) -> tuple[ModifyLiquidityEvent, ChangeCircumstances] | None:
        match row:
            case [
                int() as number,
                int() as index,
                str() as block_hash,
                str() as transaction,
                int() as delta,
                int() as timestamp,
                int() as sqrt_price,
                str() as price_source,
                int() as price_block,
                int() as growth0,
                int() as growth1,
                int() as gas,
            ]:
                event = ModifyLiquidityEvent(
                    LogPlace(number, index, block_hash, transaction),
                    identity.pool_id,
                    self._sender,
                    identity.tick_lower,
                    identity.tick_upper,
                    delta,
                    identity.token_id,
                )
                circumstances = ChangeCircumstances(
                    timestamp,
                    Known(sqrt_price, price_source, price_block),
                    Known(FeeGrowth(growth0, growth1), "PoolManager storage", number),
                    Known(gas, "receipt", number),
                )
                return event, circumstances
        return None


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
    place = event.place
    return [
        place.block_number,
        place.log_index,
        place.block_hash,
        place.transaction_hash,
        event.liquidity_delta,
        seen.timestamp,
        seen.sqrt_price.value,
        seen.sqrt_price.source,
        seen.sqrt_price.block,
        *seen.growth_paid.value,
        seen.gas.value,
    ]
