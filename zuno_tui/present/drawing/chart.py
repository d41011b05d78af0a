"""Prices through time in braille dots, with the range across them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from zuno_tui.present.drawing.pieces import Line, StyledText, figure, merged, signed_figure

if TYPE_CHECKING:
    from zuno_tui.present.views import ChartView, Tone

_BLANK = 0x2800
# A braille cell is two dots wide and four high; the bit of each, column by column, from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_WIDE, _HIGH = 2, 4
_MARGIN = 0.06
_FARTHEST = 3.0
"""How many times the prices' own spread a range's edge may lie away and still be drawn to scale."""
_SHORTEST = 3


class _Scale(NamedTuple):
    low: float
    high: float
    rows: int

    def dot(self, price: float) -> int:
        """Which of the dots from the top; prices outside stay at the edge."""
        part = (self.high - price) / (self.high - self.low)
        return max(0, min(self.rows * _HIGH - 1, int(part * self.rows * _HIGH)))

    def row(self, price: float) -> int | None:
        if not self.low <= price <= self.high:
            return None
        return self.dot(price) // _HIGH


def price_chart(
    view: ChartView, width: int, height: int, within: tuple[float, float] | None = None
) -> list[Line]:
    """`height` lines of `width` cells: the price's way, the range's edges, figures at the right.

    Drawn from one price to another where both are given: a picture that is to stand still.
    """
    rows = max(_SHORTEST, height - 1)
    scale = _scale(view, rows) if within is None else _Scale(*within, rows)
    labels = _labels(view, scale)
    gutter = max(len(text) for text, _ in labels.values()) + 1
    columns = max(_SHORTEST, width - gutter)
    cells = _cells(view.prices, scale, columns)
    edges = {scale.row(view.low), scale.row(view.high)} - {None}
    inside = _between(scale, view)
    lines = [
        merged(
            [
                *_row(cells[row], edge=row in edges, inside=row in inside),
                StyledText(f" {labels.get(row, ('', 'dim'))[0]}", labels.get(row, ("", "dim"))[1]),
            ]
        )
        for row in range(rows)
    ]
    return [*lines, (StyledText(_time_axis(view.times, columns), "dim"),)]


def result_chart(
    times: Sequence[float], values: tuple[float, ...], width: int, height: int
) -> list[Line]:
    """Gains and losses through time: the line is nothing gained and nothing lost."""
    rows = max(_SHORTEST, height - 1)
    low, high = min(0.0, *values), max(0.0, *values)
    margin = _MARGIN * ((high - low) or 1.0)
    scale = _Scale(low - margin, high + margin, rows)
    zero, now = scale.dot(0.0) // _HIGH, scale.dot(values[-1]) // _HIGH
    labels = {
        scale.dot(high) // _HIGH: signed_figure(high),
        scale.dot(low) // _HIGH: signed_figure(low),
        zero: "0",
        now: f"{signed_figure(values[-1])} now",
    }
    gutter = max(map(len, labels.values())) + 1
    columns = max(_SHORTEST, width - gutter)
    cells = _cells(values, scale, columns)
    won: Tone = "bad" if values[-1] < 0 else "good"
    lines = []
    for row in range(rows):
        if row == zero:
            drawn = _zero_row(cells[row], scale.dot(0.0) % _HIGH)
        else:
            drawn = _row(cells[row], edge=False, inside=row < zero)
        tone: Tone = won if row == now else "dim"
        lines.append(merged([*drawn, StyledText(f" {labels.get(row, '')}", tone)]))
    return [*lines, (StyledText(_time_axis(times, columns), "dim"),)]


def _scale(view: ChartView, rows: int) -> _Scale:
    lowest, highest = min(view.prices), max(view.prices)
    spread = (highest - lowest) or abs(highest) * 0.01 or 1.0
    far = _FARTHEST * spread
    near = [edge for edge in (view.low, view.high) if lowest - far <= edge <= highest + far]
    low, high = min([lowest, *near]), max([highest, *near])
    margin = _MARGIN * ((high - low) or spread)
    return _Scale(low - margin, high + margin, rows)


def _between(scale: _Scale, view: ChartView) -> range:
    top = 0 if view.high > scale.high else scale.dot(view.high) // _HIGH
    bottom = scale.rows - 1 if view.low < scale.low else scale.dot(view.low) // _HIGH
    return range(top, bottom + 1)


# While a range is moved over the same prices, only its edges change.
@lru_cache(maxsize=4)
def _cells(prices: tuple[float, ...], scale: _Scale, columns: int) -> list[list[int]]:
    """The dots of every cell: in each column a stroke from its lowest price to its highest."""
    cells = [[0] * columns for _ in range(scale.rows)]
    strokes = [(scale.dot(high), scale.dot(low)) for low, high in _spans(prices, columns * _WIDE)]
    for column, (top, bottom) in enumerate(_connected(strokes)):
        for dot in range(top, bottom + 1):
            cells[dot // _HIGH][column // _WIDE] |= _DOTS[column % _WIDE][dot % _HIGH]
    return cells


def _spans(prices: Sequence[float], columns: int) -> Iterator[tuple[float, float]]:
    """The lowest and highest price of each column; few prices are held until the next."""
    count = len(prices)
    for column in range(columns):
        first = column * count // columns
        part = prices[first : max(first + 1, (column + 1) * count // columns)]
        yield min(part), max(part)


def _connected(strokes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each stroke drawn out until it touches the one before it."""
    yield strokes[0]
    for (top_before, bottom_before), (top, bottom) in pairwise(strokes):
        if top > bottom_before:
            yield bottom_before + 1, bottom
        elif bottom < top_before:
            yield top, top_before - 1
        else:
            yield top, bottom


def _row(dots: Sequence[int], *, edge: bool, inside: bool) -> Iterator[StyledText]:
    tone: Tone = "good" if inside else "bad"
    for drawn, run in groupby(dots, bool):
        if drawn:
            yield StyledText("".join(chr(_BLANK + bits) for bits in run), tone)
        else:
            yield StyledText(("─" if edge else " ") * len(list(run)), "dim")


def _zero_row(dots: Sequence[int], zero: int) -> Iterator[StyledText]:
    """The line of nothing gained goes through where results are drawn, as dots of its own."""
    across = _DOTS[0][zero] | _DOTS[1][zero]
    below = sum(column[dot] for column in _DOTS for dot in range(zero + 1, _HIGH))
    for bits in dots:
        tone: Tone = "dim" if not bits else "bad" if bits & below else "good"
        yield StyledText(chr(_BLANK + (bits | across)), tone)


def _labels(view: ChartView, scale: _Scale) -> dict[int, tuple[str, Tone]]:
    """A figure beside each row that has one; the price of now is never hidden by an edge."""
    labels: dict[int, tuple[str, Tone]] = {}
    top, bottom = 0, scale.rows - 1
    labels[top] = (figure(scale.high), "dim")
    labels[bottom] = (figure(scale.low), "dim")
    for price, word in ((view.low, "low"), (view.high, "high")):
        row = scale.row(price)
        if row is not None:
            labels[row] = (f"{figure(price)} {word}", "plain")
    now = scale.row(view.prices[-1])
    if now is not None:
        labels[now] = (f"{figure(view.prices[-1])} now", "warn")
    return labels


def _time_axis(times: Sequence[float], columns: int) -> str:
    span = _span(times[-1] - times[0])
    return f"{span} ago".ljust(columns - len("now")) + "now"


def _span(seconds: float) -> str:
    """Rounded, where an age would be cut: 167 hours of swaps are a week's."""
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.0f} s"
