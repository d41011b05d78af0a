"""When a position was out of range, block by block, the same however often anybody looked.

An excursion begins with the block at whose end the pool's tick is outside the range. It ends with
the first block at whose end the tick is clearly inside, a margin away from both edges, or that
completes `settle_blocks` blocks after a return without leaving again. In between, a price that
dances on the edge is one excursion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.monitor.thresholds import Thresholds
    from chain.networks import Network


class BlockTick(NamedTuple):
    """A pool's tick at the end of a block in which it was swapped in."""

    block: int
    tick: int


class Bounds(NamedTuple):
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


class Standing(NamedTuple):
    """Where a position stands between excursions and in them."""

    out: bool
    back_since: int | None = None
    """In an excursion: since which block the tick has been inside again, near an edge."""


class Turn(NamedTuple):
    """An excursion's beginning or end."""

    block: int
    tick: int | None
    """None where it ended by lasting, in a block without a swap."""
    began: bool


class Course(NamedTuple):
    standing: Standing
    turns: tuple[Turn, ...]


INSIDE = Standing(out=False)
OUTSIDE = Standing(out=True)


def bounds_of(lower: int, upper: int, thresholds: Thresholds, network: Network) -> Bounds:
    width = upper - lower
    # At least one tick, but never so much that no tick is left that is clearly inside.
    margin = min(max(1, int(width * thresholds.clearly_inside)), (width - 1) // 2)
    return Bounds(lower, upper, margin, thresholds.settle_blocks(network))


def first_standing(bounds: Bounds, tick: int) -> Standing:
    """Of a position met for the first time."""
    return INSIDE if bounds.holds(tick) else OUTSIDE


def follow(bounds: Bounds, standing: Standing, ticks: Sequence[BlockTick], through: int) -> Course:
    """What the ticks of some blocks, in order, make of a standing up to the block `through`."""
    out, back = standing
    turns: list[Turn] = []
    settle = bounds.settle_blocks
    for block, tick in ticks:
        if back is not None and block > back + settle:
            turns.append(Turn(back + settle, None, began=False))
            out, back = False, None
        if not bounds.holds(tick):
            if not out:
                turns.append(Turn(block, tick, began=True))
            out, back = True, None
        elif out:
            back = block if back is None else back
            if bounds.holds_clearly(tick) or block == back + settle:
                turns.append(Turn(block, tick, began=False))
                out, back = False, None
    if back is not None and through >= back + settle:
        turns.append(Turn(back + settle, None, began=False))
        out, back = False, None
    return Course(Standing(out, back), tuple(turns))


def agrees(bounds: Bounds, standing: Standing, tick: int) -> bool:
    """Whether a standing is what the pool's present tick says: if not, a swap was kept from us."""
    inside = not standing.out or standing.back_since is not None
    return inside == bounds.holds(tick)
