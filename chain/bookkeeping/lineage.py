"""Positions that are one story: what was taken out of one was put into the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import HOUR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.bookkeeping.facts import PositionLife

SOON_SECONDS = HOUR // 2
"""So soon after leaving a pair one comes back to it when the range alone is to be another."""


class PositionStory(Struct, frozen=True):
    lives: tuple[PositionLife, ...]
    """In the order in which they were opened."""

    @property
    def name(self) -> str:
        return " → ".join(f"#{one.identity.token_id}" for one in self.lives)

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(one.identity.token_id for one in self.lives)


def stories(lives: Sequence[PositionLife], plans: Mapping[str, str]) -> tuple[PositionStory, ...]:
    """Each position in one story; `plans` tells by transaction which plan it was a step of."""
    ordered = sorted((one for one in lives if one.changes), key=_opened)
    successor: dict[int, PositionLife] = {}
    taken: set[int] = set()
    for one in ordered:
        if (following := _successor(one, ordered, taken, plans)) is not None:
            successor[one.identity.token_id] = following
            taken.add(following.identity.token_id)
    told = []
    for one in ordered:
        if one.identity.token_id in taken:
            continue
        chain = [one]
        while (following := successor.get(chain[-1].identity.token_id)) is not None:
            chain.append(following)
        told.append(PositionStory(tuple(chain)))
    # One that came from another wallet and was never changed since is a story of its own.
    return (*told, *(PositionStory((one,)) for one in lives if not one.changes))


def _successor(
    one: PositionLife,
    ordered: Sequence[PositionLife],
    taken: set[int],
    plans: Mapping[str, str],
) -> PositionLife | None:
    """The first opened after this one was left: by the same plan, or soon and in the same pair."""
    if sum(change.liquidity_delta for change in one.changes) != 0:
        return None
    left = one.changes[-1]
    plan = plans.get(left.place.transaction_hash)
    later = [
        other
        for other in ordered
        if other.identity.token_id not in taken
        and other is not one
        and (other.changes[0].timestamp, other.changes[0].place.log_index)
        > (left.timestamp, left.place.log_index)
        and other.changes[0].timestamp >= left.timestamp
    ]
    for other in later:
        opened = other.changes[0].place.transaction_hash
        if plan is not None and plans.get(opened) == plan:
            return other
    return next(
        (
            other
            for other in later
            if _pair(other) == _pair(one)
            and other.changes[0].timestamp - left.timestamp <= SOON_SECONDS
        ),
        None,
    )


def _pair(life: PositionLife) -> tuple[str, str]:
    key = life.identity.pool_key
    return key.currency0, key.currency1


def _opened(life: PositionLife) -> tuple[int, int, int]:
    place = life.changes[0].place
    return life.changes[0].timestamp, place.block_number, place.log_index
