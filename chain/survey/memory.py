"""What is remembered of pools between runs: the keys that were seen, never a price."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.pool_key import PoolKey

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
    block_hash: str
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
        match self._store.get(_CURSORS, self._key):
            case {"through": int(through), "hash": str(block_hash), "keys": [*rows]}:
                return SurveyCursor(through, block_hash, _keys(rows))
        return None

    def keep_cursor(self, cursor: SurveyCursor, *, now: float) -> None:
        value = {
            "through": cursor.through,
            "hash": cursor.block_hash,
            "keys": [key.values for key in cursor.keys],
        }
        self._store.put(_CURSORS, self._key, value, now=now)

    def survey(self) -> RememberedSurvey | None:
        written_at = self._store.written_at(_SURVEYS, self._key)
        match self._store.get(_SURVEYS, self._key):
            case {
                "keys": [*rows],
                "first": int(first),
                "through": int(through),
                "head": int(head),
                "failure": (str() | None) as failure,
            } if written_at is not None:
                coverage = LogCoverage(first, through, head, failure)
                return RememberedSurvey(_keys(rows), coverage, written_at)
        return None

    def keep_survey(self, survey: RememberedSurvey) -> None:
        value = {
            "keys": [key.values for key in survey.keys],
            "first": survey.coverage.first,
            "through": survey.coverage.through,
            "head": survey.coverage.head,
            "failure": survey.coverage.failure,
        }
        self._store.put(_SURVEYS, self._key, value, now=survey.time)


def _keys(rows: Iterable[object]) -> tuple[PoolKey, ...]:
    keys: list[PoolKey] = []
    for row in rows:
        match row:
            case [str(currency0), str(currency1), int(fee), int(spacing), str(hooks)]:
                keys.append(PoolKey(currency0, currency1, fee, spacing, hooks))
    return tuple(keys)
