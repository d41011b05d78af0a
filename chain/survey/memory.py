"""What is remembered of pools between runs: the keys that were seen, never a price."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct, field, to_builtins

from chain.contracts.pool_key import PoolKey  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chain.base.store import Store
    from chain.contracts.networks import Address, Network

_CURSORS = "initialised pools"
_SURVEYS = "pool survey"


class LogCoverage(Struct, frozen=True):
    """How much of the chain the Initialize logs were read of."""

    first: int
    through: int
    head: int
    failure: str | None = None
    """Why not more, when it is not all."""

    @property
    def complete(self) -> bool:
        return self.through >= self.head


class SurveyCursor(Struct, frozen=True):
    """The pools made up to a block that no reorganisation reaches."""

    through: int
    block_hash: str = field(name="hash")
    keys: tuple[PoolKey, ...]


class _SeenPools(Struct, frozen=True):
    keys: tuple[PoolKey, ...]


class RememberedSurvey(Struct, frozen=True):
    keys: tuple[PoolKey, ...]
    """Every pool that existed."""
    coverage: LogCoverage
    time: float


class PoolMemory:
    """The memory of one network's pools between one set of tokens: another set starts anew."""

    def __init__(self, store: Store, network: Network, tokens: Iterable[Address]) -> None:
        self._store = store
        named = hashlib.sha256(",".join(sorted(tokens)).encode()).hexdigest()[:16]
        self._key = f"{network.chain_id}/{network.contracts.pool_manager}/{named}"

    def cursor(self) -> SurveyCursor | None:
        return self._store.read(SurveyCursor, _CURSORS, self._key)

    def keep_cursor(self, cursor: SurveyCursor, *, now: float) -> None:
        self._store.put(_CURSORS, self._key, to_builtins(cursor), now=now)

    def survey(self) -> RememberedSurvey | None:
        written_at = self._store.written_at(_SURVEYS, self._key)
        seen = self._store.read(_SeenPools, _SURVEYS, self._key)
        coverage = self._store.read(LogCoverage, _SURVEYS, self._key)
        if seen is None or coverage is None or written_at is None:
            return None
        return RememberedSurvey(seen.keys, coverage, written_at)

    def keep_survey(self, survey: RememberedSurvey) -> None:
        value = {**to_builtins(_SeenPools(survey.keys)), **to_builtins(survey.coverage)}
        self._store.put(_SURVEYS, self._key, value, now=survey.time)
