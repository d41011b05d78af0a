"""How far wallets were searched for positions, and how far such a search has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct


class GivenUp(Struct, frozen=True):
    """What could not be found, and where it was looked for."""

    shortfall: int
    endpoints: tuple[str, ...]


class SearchState(Struct, frozen=True):
    """How far a wallet was searched; `found` are ids it may own, which `ownerOf` decides."""

    through: int
    logs_from: int
    """What arrived from this block to `through` is found."""
    approvals_from: int
    """The same of strangers who were allowed to move every position."""
    found: frozenset[int] = frozenset()
    operators: frozenset[str] = frozenset()
    ids_from: int = 0
    ids_through: int = 0
    """Every id between these two was asked for its owner; 0 before any was."""
    given_up: GivenUp | None = None

    @classmethod
    def from_block(cls, number: int, found: Iterable[int] = ()) -> SearchState:
        """Before anything was looked for."""
        return cls(number, number + 1, number + 1, frozenset(found))

    def is_settled(self, shortfall: int, endpoints: Sequence[str]) -> bool:
        """Whether these endpoints were asked for everything and nothing has arrived since."""
        known = self.given_up
        return (
            known is not None
            and shortfall <= known.shortfall
            and {*endpoints} <= {*known.endpoints}
        )


class SearchProgress(Struct, frozen=True):
    found: int
    wanted: int
    by: Literal["logs", "ids"]
    done: int
    total: int
    """Blocks or ids, at most: it ends as soon as everything is found."""
    seconds_left: float | None
    """At most; None before there is anything to go by."""
    blocks_at_once: int
    limited: bool
    """Whether the endpoint limits how often it may be asked."""

    @property
    def fraction(self) -> float:
        return min(1.0, self.done / max(1, self.total))
