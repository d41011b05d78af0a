"""When a position was out of range, block by block, the same however often anybody looked.

An excursion begins with the block at whose end the pool's tick is outside the range. It ends with
the first block at whose end the tick is clearly inside, a margin away from both edges, or that
completes `settle_blocks` blocks after a return without leaving again. In between, a price that
dances on the edge is one excursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from agents.monitor.rules.thresholds import Thresholds
    from chain.contracts.networks import Network


class BlockTick(NamedTuple):
    """A pool's tick at the end of a block in which it was swapped in."""

    block: int
    tick: int


class RangeBounds(NamedTuple):
    """A range and how far inside is clearly inside."""

    lower: int
    upper: int
    margin: int
    settle_blocks: int

    def holds(self, tick: int) -> bool:
        """As the pool itself decides whose liquidity is active."""
        return self.lower <= tick < self.upper

    def holds_clearly(self, tick: int) -> bool:
        return self.lower + self.margin <= tick < self.upper - self.margin


class RangeState(Struct, frozen=True, rename="camel"):
    """Where a position stands between excursions and in them."""

    out: bool
    back_since: int | None = None
    """In an excursion: since which block the tick has been inside again, near an edge."""


class RangeCrossing(NamedTuple):
    """An excursion's beginning or end."""

    block: int
    tick: int | None
    """None where it ended by lasting, in a block without a swap."""
    began: bool


class RangeTimeline(NamedTuple):
    standing: RangeState
    turns: tuple[RangeCrossing, ...]


INSIDE = RangeState(out=False)
OUTSIDE = RangeState(out=True)


def bounds_of(lower: int, upper: int, thresholds: Thresholds, network: Network) -> RangeBounds:
    width = upper - lower
    # At least one tick, but never so much that no tick is left that is clearly inside.
    margin = min(max(1, int(width * thresholds.clearly_inside)), (width - 1) // 2)
    return RangeBounds(lower, upper, margin, thresholds.settle_blocks(network))


def first_standing(bounds: RangeBounds, tick: int) -> RangeState:
    """Of a position met for the first time."""
    return INSIDE if bounds.holds(tick) else OUTSIDE


def follow(
    bounds: RangeBounds, standing: RangeState, ticks: Sequence[BlockTick], through: int
) -> RangeTimeline:
    """What the ticks of some blocks, in order, make of a standing up to the block `through`."""
    out, back = standing.out, standing.back_since
    turns: list[RangeCrossing] = []
    settle = bounds.settle_blocks
    for block, tick in ticks:
        if back is not None and block > back + settle:
            turns.append(RangeCrossing(back + settle, None, began=False))
            out, back = False, None
        if not bounds.holds(tick):
            if not out:
                turns.append(RangeCrossing(block, tick, began=True))
            out, back = True, None
        elif out:
            back = block if back is None else back
            if bounds.holds_clearly(tick) or block == back + settle:
                turns.append(RangeCrossing(block, tick, began=False))
                out, back = False, None
    if back is not None and through >= back + settle:
        turns.append(RangeCrossing(back + settle, None, began=False))
        out, back = False, None
    return RangeTimeline(RangeState(out, back), tuple(turns))


def agrees(bounds: RangeBounds, standing: RangeState, tick: int) -> bool:
    """Whether a standing is what the pool's present tick says: if not, a swap was kept from us."""
    inside = not standing.out or standing.back_since is not None
    return inside == bounds.holds(tick)
