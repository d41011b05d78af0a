"""Every option's range on one scale with the price through all of them: the move at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARGIN = 0.08
_FARTHEST = 4
"""How many times the usual edge's distance a scale reaches; a full range would leave no picture."""


class Scale(NamedTuple):
    low: float
    high: float
    width: int

    def place(self, ticks: float) -> int:
        part = (ticks - self.low) / (self.high - self.low)
        return max(0, min(self.width - 1, round(part * (self.width - 1))))


def scale_of(ranges: Sequence[tuple[int, int]], width: int) -> Scale:
    """A scale that holds the price and every edge, as far as they are not out of all measure."""
    distances = sorted(abs(edge) for edges in ranges for edge in edges if edge) or [1]
    most = _FARTHEST * distances[len(distances) // 2]
    low = max(min(0, *(low for low, _ in ranges)), -most)
    high = min(max(0, *(high for _, high in ranges)), most)
    margin = _MARGIN * (high - low)
    return Scale(low - margin, high + margin, width)


def range_line(edges: tuple[int, int] | None, scale: Scale) -> str:
    """`  ├──────●────┤   ` with the price where it is on every other line of the picture."""
    cells = [" "] * scale.width
    if edges is not None:
        left, right = scale.place(edges[0]), scale.place(edges[1])
        for place in range(left, right + 1):
            cells[place] = "─"
        cells[left] = "├" if edges[0] > scale.low else "‹"
        cells[right] = "┤" if edges[1] < scale.high else "›"
    price = scale.place(0)
    inside = edges is not None and edges[0] <= 0 < edges[1]
    cells[price] = "●" if inside else "│" if edges is None else "○"
    return "".join(cells)
