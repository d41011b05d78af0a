"""What endpoints were found to take and to give at once, so that no process finds it out again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, to_builtins

from chain.base.store import Store, StoreError, read_as

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.rpc.endpoint import Endpoint

T = TypeVar("T")

_BATCHES, _RANGES = "endpoint batch", "log range"
_KEPT_SECONDS = 86_400.0
"""A plan may change, or what a provider gives."""

_FEWEST_FOLLOWED = 50


class KnownRange(Struct, frozen=True):
    """Of how many blocks an endpoint was found to give the logs at once."""

    blocks: int
    most: bool
    """Whether it refused more."""

    @property
    def gives_logs(self) -> bool:
        """Enough of them to follow a wallet by: less is gone by when somebody looks again."""
        return self.blocks >= _FEWEST_FOLLOWED or not self.most


class EndpointMemory:
    """Without a store it lasts as long as the process.

    What cannot be saved is found out again: no read fails for want of it.
    """

    def __init__(self, store: Store | None, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._unsaved: dict[tuple[str, str], object] = {}
        self._clock = clock
        self._chain_id = network.chain_id

    def recall_batches(self, endpoints: Sequence[Endpoint]) -> None:
        """Tell the endpoints how large a batch each was found to take."""
        for endpoint in endpoints:
            endpoint.most_in_batch = self._read(int, _BATCHES, self._key(endpoint))

    def remember_batch(self, endpoint: Endpoint) -> None:
        self._write(_BATCHES, self._key(endpoint), endpoint.most_in_batch)

    def log_range(self, endpoints: Sequence[Endpoint]) -> KnownRange | None:
        """What these give together: any of them may be asked."""
        return self._read(KnownRange, _RANGES, self._key(*endpoints))

    def remember_log_range(self, endpoints: Sequence[Endpoint], known: KnownRange) -> None:
        self._write(_RANGES, self._key(*endpoints), to_builtins(known))

    def _read(self, kind: type[T], namespace: str, key: str) -> T | None:
        if self._store is None:
            return read_as(kind, self._unsaved.get((namespace, key)))
        learned = self._store.written_at(namespace, key)
        if learned is None or learned < self._clock() - _KEPT_SECONDS:
            return None
        return self._store.read(kind, namespace, key)

    def _write(self, namespace: str, key: str, value: object) -> None:
        if self._store is None:
            self._unsaved[namespace, key] = value
            return
        with suppress(StoreError):
            self._store.put(namespace, key, value, now=self._clock())

    def _key(self, *endpoints: Endpoint) -> str:
        return f"{self._chain_id}/{' '.join(sorted(one.fingerprint for one in endpoints))}"
