"""A number with where it comes from, or the reason there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, Union

from msgspec import Struct

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Unknown(Struct, frozen=True):
    """A number nobody has, and why: a phrase that can stand after "unknown:"."""

    reason: str

    def map(self, function: Callable[..., object]) -> Unknown:  # noqa: ARG002
        """Nothing computed from the unknown is known; the reason stays."""
        return self


class Known(Struct, Generic[T_co], frozen=True):
    value: T_co
    source: str
    """Who says so, for people: "pool swaps", "CoinGecko", "PoolManager storage"."""
    block: int | None = None
    time: float | None = None
    """Unix seconds: of the block when it was read from a chain, else of the answer."""

    def age(self, now: float) -> float | None:
        """Seconds since then, by the network's own clock."""
        return None if self.time is None else max(0.0, now - self.time)

    def map(self, function: Callable[[T_co], R]) -> Known[R]:
        """Another number computed from this one alone, from the same source."""
        return Known(function(self.value), self.source, self.block, self.time)


Quantity = Union[Known[T_co], Unknown]  # noqa: UP007, the alias stays generic this way


def combine(function: Callable[..., R], *inputs: Quantity[object]) -> Quantity[R]:
    """A number computed from several: as old as the oldest, unknown when any of them is."""
    known: list[Known[object]] = []
    for quantity in inputs:
        if isinstance(quantity, Unknown):
            return quantity
        known.append(quantity)
    return Known(
        function(*(quantity.value for quantity in known)),
        source=" + ".join(dict.fromkeys(quantity.source for quantity in known)),
        block=min((q.block for q in known if q.block is not None), default=None),
        time=min((q.time for q in known if q.time is not None), default=None),
    )
