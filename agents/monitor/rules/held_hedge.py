"""What is short on a venue for a position, and who tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address


class HeldHedge(Struct, frozen=True):
    """What is short on a venue for one position."""

    wallet: Address
    coin: str
    token: Address
    """The coin, as the position's pool knows it."""
    ratio: float
    """Of the coins the position holds, what should be short."""
    short: float
    """Coins, with what still waits to be sold."""


class HedgeSource(Protocol):
    """Tells what is short on venues; it may not change anything there."""

    async def held_hedges(self) -> Mapping[int, HeldHedge] | None:
        """By position of one network; None where a venue cannot be read."""
