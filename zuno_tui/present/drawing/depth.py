"""The liquidity around the price as columns, and where the range lies under them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from zuno_tui.present.drawing.pieces import Line, StyledText, figure, merged

if TYPE_CHECKING:
    from zuno_tui.present.drawing.pieces import DrawnTone

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_FEWEST = 8


class _Span(NamedTuple):
    """The prices from one end of the picture to the other."""

    first: float
    last: float
    columns: int

    def place(self, price: float) -> int:
        part = (price - self.first) / ((self.last - self.first) or 1.0)
        return max(0, min(self.columns - 1, int(part * self.columns)))

    def covers(self, low: float, high: float) -> bool:
        return high >= self.first and low <= self.last


def depth_picture(
    points: Sequence[tuple[float, float]],
    *,
    low: float,
    high: float,
    price: float,
    width: int,
    height: int,
) -> list[Line]:
    """Columns of active liquidity; under them `├───●──┤`, the range with the price in it.

    The area is dark, so that the eye finds the edges of the range and the price.
    """
    span = _Span(points[0][0], points[-1][0], max(_FEWEST, width))
    rows = max(1, height - 2)
    depths = _resampled(points, span)
    most = max(depths) or 1.0
    tones = _tones(span, low, high, price)
    levels = [round(depth / most * rows * 8) for depth in depths]
    lines = [_coloured(_columns(levels, 8 * (rows - 1 - row)), tones) for row in range(rows)]
    return [*lines, _range_line(span, low, high, price), _axis(span)]


def _columns(levels: Sequence[int], floor: int) -> str:
    return "".join(_EIGHTHS[max(0, min(8, level - floor))] for level in levels)


def _coloured(cells: str, tones: Sequence[DrawnTone]) -> Line:
    """One piece for each run of a tone."""
    pieces, start = [], 0
    for tone, run in groupby(tones):
        end = start + len(list(run))
        pieces.append(StyledText(cells[start:end], tone))
        start = end
    return tuple(pieces)


def _resampled(points: Sequence[tuple[float, float]], span: _Span) -> list[float]:
    """The liquidity at evenly spaced prices; between two points it is that of the lower one."""
    depths, at = [], 0
    for column in range(span.columns):
        price = span.first + (span.last - span.first) * (column + 0.5) / span.columns
        while at + 1 < len(points) and points[at + 1][0] <= price:
            at += 1
        depths.append(points[at][1])
    return depths


def _tones(span: _Span, low: float, high: float, price: float) -> list[DrawnTone]:
    tones: list[DrawnTone] = ["shade"] * span.columns
    if span.covers(low, high):
        left, right = span.place(low), span.place(high)
        tones[left : right + 1] = ["good shade"] * (right - left + 1)
        if low >= span.first:
            tones[left] = "good"
        if high <= span.last:
            tones[right] = "good"
    tones[span.place(price)] = "warn"
    return tones


def _range_line(span: _Span, low: float, high: float, price: float) -> Line:
    cells = [" "] * span.columns
    if span.covers(low, high):
        left, right = span.place(low), span.place(high)
        cells[left : right + 1] = ["─"] * (right - left + 1)
        cells[left] = "├" if low >= span.first else "‹"
        cells[right] = "┤" if high <= span.last else "›"
    at = span.place(price)
    mark = StyledText("●" if low <= price < high else "○", "warn")
    return merged([StyledText("".join(cells[:at])), mark, StyledText("".join(cells[at + 1 :]))])


def _axis(span: _Span) -> Line:
    left, right = figure(span.first), figure(span.last)
    return (StyledText(left + right.rjust(span.columns - len(left)), "dim"),)
