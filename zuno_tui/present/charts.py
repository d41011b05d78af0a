"""Charts in characters: prices, days, depth and active liquidity."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise, zip_longest
from time import gmtime, strftime
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from chain.base.units import DAY, HOUR, signed_percent
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from zuno_tui.present.output import cell_width
from zuno_tui.present.views import ChartView, Tone
from zuno_tui.present.words import percent

if TYPE_CHECKING:
    from chain.pools.depth import Depth
    from chain.protocols.snapshot import PositionIdentity
    from chain.tokens.pair import Pair


DrawnTone = Tone | Literal["shade", "good shade", "strong", "strong warn", "title"]
"""Shades fill an area; words are never drawn in them."""


WIDTH = 14
_OUTSIDE = 2
"""Cells left on each side for a price that has gone beyond the edge."""


def range_gauge(progress: float | None, width: int = WIDTH, *, ascii_only: bool = False) -> str:
    """`├───●─────┤` with the price at `progress`, 0 the lower edge and 1 the upper one; None of a
    range that holds nothing, which no price concerns."""
    line, left, right, mark = ("-", "[", "]", "o") if ascii_only else ("─", "├", "┤", "●")
    if progress is not None and not ascii_only and not 0 <= progress < 1:
        line = "╌"  # where no colour tells that it earns nothing
    inner = width - 2 * _OUTSIDE
    cells = [" "] * _OUTSIDE + [left, *line * (inner - 2), right] + [" "] * _OUTSIDE
    if progress is not None:
        cells[_place(progress, inner)] = mark
    return "".join(cells)


def _place(progress: float, inner: int) -> int:
    if progress < 0:
        return 0
    if progress >= 1:
        return inner + 2 * _OUTSIDE - 1
    # The edges themselves stay drawn: a price just inside stands beside them, not on them.
    return _OUTSIDE + 1 + min(inner - 3, int(progress * (inner - 2)))


def wide_gauge(progress: float, low: str, high: str, width: int) -> str:
    """`2,893 ├──────●─────┤ 3,301` over all of a line, a price beyond an edge beyond its figure."""
    before, after = "● " if progress < 0 else "", " ●" if progress >= 1 else ""
    inner = max(5, width - len(f"{before}{low}  {high}{after}"))
    cells = ["├", *"─" * (inner - 2), "┤"]
    if not before and not after:
        cells[1 + min(inner - 3, int(progress * (inner - 2)))] = "●"
    return f"{before}{low} {''.join(cells)} {high}{after}"


# No full block: lines above each other must not run together.
_STEPS = "▁▂▃▄▅▆▇"


def sparkline(values: Sequence[float], cells: int) -> str:
    """The newest values as steps between their least and their most; nothing of fewer than two."""
    if len(values) < 2:
        return ""
    shown = _thinned(values, cells)
    low, spread = min(shown), (max(shown) - min(shown)) or 1.0
    last = len(_STEPS) - 1
    return "".join(_STEPS[round((value - low) / spread * last)] for value in shown)


def spark_through(
    times: Sequence[float], values: Sequence[float], window: tuple[float, float], cells: int
) -> str:
    """The same by the clock: blank before it began, so that rows of one window compare."""
    begin, end = window
    if len(values) < 2 or end <= begin:
        return ""
    ticks = [begin + (end - begin) * cell / (cells - 1) for cell in range(cells)]
    places = [bisect_right(times, tick) - 1 for tick in ticks]
    known = [values[place] for place in places if place >= 0]
    return sparkline(known, cells).rjust(cells)


def _thinned(values: Sequence[float], cells: int) -> Sequence[float]:
    if len(values) <= cells:
        return values
    return [values[round(place * (len(values) - 1) / (cells - 1))] for place in range(cells)]


_EIGHTHS = ("", *"▏▎▍▌▋▊▉")


def survival_bar(part: float | None, cells: int) -> str:
    """`━━━━━━╸  84%`: the chance to stay in range; a dash where there is no range."""
    if part is None:
        return "–"
    halves = 2 * cells
    drawn = thin_bar(1.0 if _is_certain(part) else int(part * halves) / (halves or 1), cells)
    return f"{drawn} {percent(part):>5}".strip()


def _is_certain(part: float) -> bool:
    return float(f"{100 * part:.3g}") >= 100


def bar(part: float, cells: int) -> str:
    """Rounded down, as 97% must not look like certainty, but full where the figure beside it is."""
    full, eighths = (cells, 0) if _is_certain(part) else divmod(int(part * cells * 8), 8)
    return f"{'█' * full}{_EIGHTHS[eighths]}".ljust(cells, "·")


class StyledText(NamedTuple):
    text: str
    tone: DrawnTone = "plain"


Line = tuple[StyledText, ...]


def plain(line: Iterable[StyledText]) -> str:
    return "".join(piece.text for piece in line)


def merge_pieces(pieces: Iterable[StyledText]) -> Line:
    """Neighbours of one tone joined, so that a line of cells costs a few pieces."""
    joined: list[StyledText] = []
    for piece in pieces:
        if joined and joined[-1].tone == piece.tone:
            joined[-1] = StyledText(joined[-1].text + piece.text, piece.tone)
        elif piece.text:
            joined.append(piece)
    return tuple(joined)


def figure(value: float) -> str:
    """A price or an amount in five digits, as short as it can be said: `3,094.9`, `0.00012`."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or size < 1e-9:
        return f"{value:.3g}"
    whole = len(str(int(size))) if size >= 1 else 0
    if whole:
        return f"{value:,.{max(0, 5 - whole)}f}"
    text = f"{value:.12f}".rstrip("0")
    lead = len(text) - len(text.lstrip("-0."))
    return text[: lead + 4]


_LEAST_TOLD = 5e-5


def signed_figure(value: float) -> str:
    """A gain or a loss in whole numbers where it is large: `+1,204`, `−3.2`."""
    if abs(value) < _LEAST_TOLD:
        return "0"
    size = f"{abs(value):,.0f}" if abs(value) >= 100 else f"{abs(value):.3g}"
    return f"{'−' if value < 0 else '+'}{size}"


_BLANK = 0x2800
# A braille cell is two dots wide and four high; the bit of each, column by column, from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_WIDE, _HIGH = 2, 4
_MARGIN = 0.06
_FARTHEST, _FARTHEST_BEHIND = 3.0, 1.0
"""How many times the prices' own spread a range's edge may lie away and still be drawn to scale;
and one that lies behind the other, seen from a price outside."""
_NEAR_END = 2
"""Rows in which a figure beyond a picture's end may stand."""
_FULL_RANGE = 20
"""How many times the price an edge is away that nobody looks for."""
_SHORTEST = 3
_ROWS_APART = 4
_SHORTEST_LINE = 4
_COLUMNS_APART, _LEAST_APART = 12, 3
_WIDEST_GAP = 1.5
"""How many steps of an axis may lie between its last date and now."""
_ROUND = 0.1
"""By what part of a step a span may be longer than its steps and still begin with one."""
_AGES = (60, 300, 900, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY)
"""Steps of an axis of time, in seconds."""
_FEE_BARS = " ▁▂▃▄▅▆▇█"
_FEES_GUTTER = 12
_BESIDE_FEES = 4
"""By how much the sum of fees may be longer than the figures above it."""


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
    rows = max(_SHORTEST, height - 1 - _earns(view) - bool(view.changes))
    scale = _scale(view, rows) if within is None else _Scale(*within, rows)
    labels = _labels(view, scale)
    gutter = max(len(plain(label)) for label in labels.values()) + 1
    gutter = max(gutter, _FEES_GUTTER if _earns(view) else 0)
    columns = max(_SHORTEST, width - gutter)
    cells = _cells(view.times, view.prices, scale, columns)
    edges: dict[int | None, Tone] = dict.fromkeys(
        (scale.row(view.low), scale.row(view.high)), _range_tone(view)
    )
    edges |= {scale.row(price): tone for price, _, tone in view.marks}
    top = 0 if view.high > scale.high else scale.dot(view.high) // _HIGH
    bottom = scale.rows - 1 if view.low < scale.low else scale.dot(view.low) // _HIGH
    inside = range(top, bottom + 1)
    below = _below(view, columns, summed=False)
    lines = [
        merge_pieces(
            [
                *_row(cells[row], "plain" if row in inside else "dim", edges.get(row)),
                StyledText(" "),
                *labels.get(row, ()),
            ]
        )
        for row in range(rows)
    ]
    axis = _dates if view.marks else _time_axis
    return [*lines, *below, (StyledText(axis(view.times, columns), "dim"),)]


def _range_tone(view: ChartView) -> Tone:
    """As the gauge of its row: where the price is outside, it earns nothing."""
    return "good" if view.low <= view.prices[-1] < view.high else "bad"


def chart_caption(view: ChartView) -> Line:
    """`7 d −3.42% · closes 2,887.8 to 3,206.9 · range −8.64% to +8.29% from now`."""
    caption, last = price_caption(view), view.prices[-1]
    if not (view.low > 0 and view.high < math.inf):
        return caption
    ends = (signed_percent(edge / last - 1) for edge in (view.low, view.high))
    return (*caption, StyledText(f" · range {' to '.join(ends)} from now", "dim"))


def price_caption(view: ChartView) -> Line:
    """`7 d −3.42% · closes 2,887.8 to 3,206.9`."""
    first, last = view.prices[0], view.prices[-1]
    return (
        StyledText(f"{_span(view.times[-1] - view.times[0])} ", "dim"),
        StyledText(signed_percent(last / first - 1), "bad" if last < first else "good")
        if first
        else StyledText("–", "dim"),
        StyledText(f" · closes {figure(min(view.prices))} to {figure(max(view.prices))}", "dim"),
    )


def window_chart(view: ChartView, seconds: float | None) -> ChartView:
    """The same of the last so many seconds; of None since liquidity first came."""
    end = view.times[-1]
    entry = view.changes[0][0] if view.changes else view.times[0]
    begin = max(view.times[0], entry if seconds is None else end - seconds)
    first = max(0, bisect_right(view.times, begin) - 1)
    # Until somebody swapped again, the price before the window still stands.
    times = (begin, *view.times[first + 1 :])
    prices = view.prices[first:]
    return replace(
        view,
        times=times if len(times) > 1 else (begin, end),
        prices=prices if len(prices) > 1 else prices * 2,
        fees=tuple(hour for hour in view.fees if hour[0] + HOUR > begin),
        changes=tuple(change for change in view.changes if change[0] >= begin),
    )


def with_last_day(week: ChartView, day: ChartView) -> ChartView:
    """The day is read more often: the week ends with it."""
    before = sum(time < day.times[0] for time in week.times)
    hours = {hour for hour, _ in day.fees}
    return replace(
        week,
        times=(*week.times[:before], *day.times),
        prices=(*week.prices[:before], *day.prices),
        fees=(*(fee for fee in week.fees if fee[0] not in hours), *day.fees),
    )


def _below(view: ChartView, columns: int, *, summed: bool) -> Iterator[Line]:
    """Under the prices: when liquidity came and went, and what each hour earned, as bars."""
    begin, span = view.times[0], (view.times[-1] - view.times[0]) or 1.0

    def column(time: float) -> int:
        return min(columns - 1, max(0, int((time - begin) / span * columns)))

    if view.changes:
        marks = [" "] * columns
        for time, way in view.changes:
            marks[column(time)] = "▲" if way > 0 else "▼"
        yield (StyledText("".join(marks), "plain"), StyledText(" add, remove", "dim"))
    if _earns(view):
        earned = [0.0] * columns
        for time, amount in view.fees:
            earned[column(time + HOUR / 2)] += amount
        most = max(earned) or 1.0
        drawn = "".join(_FEE_BARS[round(amount / most * (len(_FEE_BARS) - 1))] for amount in earned)
        words = f" {amount_figure(sum(earned))} fees" if summed else " fees"
        yield (StyledText(drawn, "good"), StyledText(words, "good"))


def _earns(view: ChartView) -> bool:
    return any(amount for _, amount in view.fees)


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
    cells = _cells(tuple(times), values, scale, columns)
    won: Tone = "bad" if values[-1] < 0 else "good"
    lines = []
    for row in range(rows):
        if row == zero:
            drawn = _zero_row(cells[row], scale.dot(0.0) % _HIGH)
        else:
            drawn = _row(cells[row], "good" if row < zero else "bad")
        tone: Tone = won if row == now else "dim"
        lines.append(merge_pieces([*drawn, StyledText(f" {labels.get(row, '')}", tone)]))
    return [*lines, (StyledText(_time_axis(times, columns), "dim"),)]


def book_chart(
    by_hour: Sequence[tuple[float, float, float]], width: int, height: int
) -> list[Line]:
    """What closed hours gained together, added up, and the fees of each below as bars."""
    times = [by_hour[0][0], *(begin + HOUR for begin, _, _ in by_hour)]
    values = (0.0, *accumulate(gained for _, gained, _ in by_hour))
    *lines, axis = result_chart(times, values, width - _BESIDE_FEES, height - 1)
    columns = len(plain(axis))
    fees = tuple((begin, amount) for begin, _, amount in by_hour)
    below = _below(
        ChartView((times[0], times[-1]), (1.0, 1.0), 0.0, 0.0, fees), columns, summed=True
    )
    return [*lines, *below, axis]


def _scale(view: ChartView, rows: int) -> _Scale:
    drawn = (*view.prices, *(price for price, _, _ in view.marks))
    lowest, highest = min(drawn), max(drawn)
    spread = (highest - lowest) or abs(highest) * 0.01 or 1.0
    last = view.prices[-1]
    behind = view.high if last < view.low else view.low if last >= view.high else None
    near = [
        edge
        for edge in (view.low, view.high)
        for far in ((_FARTHEST_BEHIND if edge == behind else _FARTHEST) * spread,)
        if lowest - far <= edge <= highest + far
    ]
    low, high = min([lowest, *near]), max([highest, *near])
    margin = _MARGIN * ((high - low) or spread)
    low, high = low - margin, high + margin
    # The price of now stands in the middle of its row, as the lines and the figures do.
    row = (high - low) / rows
    aside = (0.5 - (high - view.prices[-1]) / row % 1) * row
    return _Scale(low + aside, high + aside, rows)


# While a range is moved over the same prices, only its edges change.
@lru_cache(maxsize=4)
def _cells(
    times: tuple[float, ...], prices: tuple[float, ...], scale: _Scale, columns: int
) -> list[list[int]]:
    """The dots of every cell: in each column a stroke from its lowest price to its highest."""
    cells = [[0] * columns for _ in range(scale.rows)]
    spans = _spans(times, prices, columns * _WIDE)
    strokes = [(scale.dot(high), scale.dot(low)) for low, high in spans]
    for column, (top, bottom) in enumerate(_connected(strokes)):
        for dot in range(top, bottom + 1):
            cells[dot // _HIGH][column // _WIDE] |= _DOTS[column % _WIDE][dot % _HIGH]
    return cells


def _spans(
    times: Sequence[float], prices: Sequence[float], columns: int
) -> Iterator[tuple[float, float]]:
    """The lowest and highest price in each column's time; a price holds until the next."""
    begin, span = times[0], (times[-1] - times[0]) or 1.0
    first = 0
    for column in range(columns):
        end = begin + span * (column + 1) / columns
        last = max(first + 1, bisect_right(times, end) if column < columns - 1 else len(times))
        part = prices[first:last]
        yield min(part), max(part)
        first = last - 1


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


def _row(dots: Sequence[int], tone: Tone, edge: Tone | None = None) -> Iterator[StyledText]:
    """Where nothing is drawn, the line of an edge; of a piece too short to be one, nothing."""
    for drawn, run in groupby(dots, bool):
        cells = list(run)
        if drawn:
            yield StyledText("".join(chr(_BLANK + bits) for bits in cells), tone)
        else:
            lined = edge is not None and len(cells) >= _SHORTEST_LINE
            yield StyledText(("─" if lined else " ") * len(cells), edge or "dim")


def _zero_row(dots: Sequence[int], zero: int) -> Iterator[StyledText]:
    """The line of nothing gained goes through where results are drawn, as dots of its own."""
    across = _DOTS[0][zero] | _DOTS[1][zero]
    below = sum(column[dot] for column in _DOTS for dot in range(zero + 1, _HIGH))
    for bits in dots:
        tone: Tone = "dim" if not bits else "bad" if bits & below else "good"
        yield StyledText(chr(_BLANK + (bits | across)), tone)


def _labels(view: ChartView, scale: _Scale) -> dict[int, Line]:
    """A figure beside each row that has one; the price of now is never hidden by an edge."""
    labels: dict[int, Line] = {}
    for price in (view.low, view.high):
        row = scale.row(price)
        if row is not None:
            labels[row] = (StyledText(f"{figure(price)} range", _range_tone(view)),)
    marked: set[int] = set()
    for price, word, tone in view.marks:
        row = scale.dot(price) // _HIGH
        words = f"{figure(price)} {word}"
        beside = labels[row] if row in marked else ()
        labels[row] = (*beside, StyledText(f", {words}" if beside else words, tone))
        marked.add(row)
    now = scale.row(view.prices[-1])
    if now is not None:
        last = figure(view.prices[-1])
        beside = labels[now] if now in marked else ()
        named = (part._replace(text=f", {part.text.removeprefix(f'{last} ')}") for part in beside)
        labels[now] = (StyledText(f"{last} now", "warn"), *named)
    for words, rows in _beyond(view, scale):
        row = next((row for row in rows if row not in labels), None)
        if row is not None:
            labels[row] = (StyledText(words, _range_tone(view)),)
    for price in _round_prices(scale):
        row = scale.dot(price) // _HIGH
        if not {row - 1, row, row + 1} & labels.keys():
            words = f"{price:,.0f}" if price >= 1 and price == round(price) else figure(price)
            labels[row] = (StyledText(words, "dim"),)
    return labels


def _beyond(view: ChartView, scale: _Scale) -> Iterator[tuple[str, range]]:
    """Edges that are not in the picture, told near the end where they would be, or not at all."""
    last, rows = view.prices[-1], range(scale.rows)
    if scale.high < view.high < last * _FULL_RANGE:
        yield f"↑ {figure(view.high)} range", rows[:_NEAR_END]
    if last / _FULL_RANGE < view.low < scale.low:
        yield f"↓ {figure(view.low)} range", rows[: -_NEAR_END - 1 : -1]


def _round_prices(scale: _Scale) -> list[float]:
    """Round figures along the axis, at least so many rows apart; the ends where none fits."""
    least = (scale.high - scale.low) * _ROWS_APART / scale.rows
    tens = 10.0 ** math.floor(math.log10(least))
    step = next(tens * each for each in (1, 2, 5, 10) if tens * each >= least)
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    return [step * each for each in range(first, last + 1)] or [scale.high, scale.low]


def _dates(times: Sequence[float], columns: int) -> str:
    """Dates under their midnights in UTC: of each day, or of every second, third, … where those do
    not stand apart, or one beside `now` would leave a gap."""
    begin, span = times[0], (times[-1] - times[0]) or 1.0
    days = range(int(begin // DAY + 1) * DAY, int(times[-1]) + 1, DAY)
    last = columns - _LEAST_APART - len("now")
    for stride in range(1, len(days) + 1):
        axis, named = "", 0
        for day in days[::stride]:
            place, date = int((day - begin) / span * columns), strftime("%d %b", gmtime(day))
            if len(axis) + bool(axis) <= place <= last - len(date):
                axis, named = axis.ljust(place) + date, day
        if times[-1] - named <= _WIDEST_GAP * stride * DAY:
            return axis.ljust(columns - len("now")) + "now"
    return "now".rjust(columns)


def _time_axis(times: Sequence[float], columns: int) -> str:
    """`1 d ago`, `now`, and round ages between them where they stand well apart."""
    span = times[-1] - times[0]
    fitting = (step for step in _AGES if span and columns * step / span >= _COLUMNS_APART)
    step = next(fitting, span)
    # It begins with a step, where its own begin would stand between two.
    begins = not step or span % step < _ROUND * step or span < 2 * step
    axis = f"{_span(span)} ago" if begins else ""
    for age in range(int(span // step) if step else 0, 0, -1):
        words = _span(age * step) if axis else f"{_span(age * step)} ago"
        place = max(0, round(columns * (1 - age * step / span)) - len(words) // 2)
        last = columns - len(words) - _LEAST_APART - len("now")
        if not axis or len(axis) + _LEAST_APART <= place <= last:
            axis = axis.ljust(place) + words
    return axis.ljust(columns - len("now")) + "now"


def _span(seconds: float) -> str:
    """Rounded, where an age would be cut: 167 hours of swaps are a week's."""
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.0f} s"


_FULL, _HALF = "━", "╸"
_FIGURE = 9
_SHORTEST_DAYS = 4
_CENT = 0.01


def day_bars(days: Sequence[tuple[str, float, float]], width: int, unit: str = "") -> list[Line]:
    """A line a day: its name, a bar and a figure for fees, the same for LVR, and the net."""
    label = max(len(day) for day, _, _ in days)
    room = max(_SHORTEST_DAYS, (width - label - 3 * (_FIGURE + 1) - 4) // 2)
    most = max((max(fees, lvr) for _, fees, lvr in days), default=0.0) or 1.0
    head = (
        " " * (label + 2)
        + f"{f'FEES {unit}'.strip():>{room + 1 + _FIGURE}}"
        + f"  {f'LVR {unit}'.strip():>{room + 1 + _FIGURE}}"
        + f"{f'NET {unit}'.strip():>{_FIGURE + 1}}"
    )
    small = _are_small(max(fees, lvr) for _, fees, lvr in days)
    lines: list[Line] = [(StyledText(head, "dim"),)]
    for day, fees, lvr in days:
        net = fees - lvr
        tone: Tone = "good" if net >= 0 else "bad"
        lines.append(
            (
                StyledText(f"{day:<{label}}  ", "dim"),
                StyledText(thin_bar(fees / most, room), "good"),
                StyledText(f" {amount_figure(fees, small=small):>{_FIGURE}}  "),
                StyledText(thin_bar(lvr / most, room), "bad"),
                StyledText(f" {amount_figure(lvr, small=small):>{_FIGURE}}"),
                StyledText(f"{_signed(net, small=small):>{_FIGURE + 1}}", tone),
            )
        )
    if len(days) > 1:
        lines.append(_days_together(days, label, room))
    return lines


def _days_together(days: Sequence[tuple[str, float, float]], label: int, room: int) -> Line:
    """Of the figures as they are shown above it."""
    fees, lvr = sum(each for _, each, _ in days), sum(each for _, _, each in days)
    net = fees - lvr
    small = _are_small(max(fees, lvr) for _, fees, lvr in days)
    return (
        StyledText(f"{'sum':<{label}}  {'':<{room}} ", "dim"),
        StyledText(f"{amount_figure(fees, small=small):>{_FIGURE}}  {'':<{room}} ", "strong"),
        StyledText(f"{amount_figure(lvr, small=small):>{_FIGURE}}", "strong"),
        StyledText(f"{_signed(net, small=small):>{_FIGURE + 1}}", "good" if net >= 0 else "bad"),
    )


def fee_days(days: Sequence[tuple[str, float]], width: int) -> list[Line]:
    """A line a day: its name, a bar and a figure."""
    most = max((fees for _, fees in days), default=0.0) or 1.0
    label = max((len(day) for day, _ in days), default=0)
    room = max(_SHORTEST_DAYS, width - label - _FIGURE - 3)
    small = _are_small(fees for _, fees in days)
    return [
        (
            StyledText(f"{day:<{label}}  ", "dim"),
            StyledText(thin_bar(fees / most, room), "good"),
            StyledText(f" {amount_figure(fees, small=small):>{_FIGURE}}"),
        )
        for day, fees in days
    ]


def side_by_side(left: Sequence[Line], right: Sequence[Line], half: int, gap: int) -> list[Line]:
    """Lines beside each other, the right ones after so many cells and a gap."""
    lines: list[Line] = []
    for left_line, other in zip_longest(left, right, fillvalue=()):
        taken = sum(cell_width(piece.text) for piece in left_line)
        lines.append(
            (*left_line, StyledText(" " * (half - taken + gap)), *other) if other else left_line
        )
    return lines


def thin_bar(part: float, room: int) -> str:
    """As thin as a line: bars of one day do not touch those of the next."""
    full, rest = divmod(max(0, min(room * 2, round(part * room * 2))), 2)
    return (_FULL * full + _HALF * rest).ljust(room)


def amount_figure(value: float, *, small: bool = False) -> str:
    """Two decimals, as money has, four where all are small; what they would call nothing is said
    to be less."""
    places, least = (4, _CENT**2) if small else (2, _CENT)
    return f"{value:,.{places}f}" if value == 0 or value >= least else f"<{least:.{places}f}"


def _are_small(values: Iterable[float]) -> bool:
    """Where hundredths would call most of them nothing, as of ether."""
    return 0 < max(values, default=0.0) < 1


def _signed(value: float, *, small: bool = False) -> str:
    size = amount_figure(abs(value), small=small)
    return f"−{size}" if value < 0 else f"+{size}"


_DEPTH_EIGHTHS = " ▁▂▃▄▅▆▇█"
_FEWEST = 8


class _Span(NamedTuple):
    """The prices from one end of the picture to the other, as far apart as their ticks are: so
    the price stands where it does in every other drawing of a range."""

    first: float
    last: float
    columns: int

    def place(self, price: float) -> int:
        inside = max(self.first, min(self.last, price))
        part = math.log(inside / self.first) / (math.log(self.last / self.first) or 1.0)
        return min(self.columns - 1, int(part * self.columns))

    def price(self, column: int) -> float:
        """In the middle of it."""
        part = (column + 0.5) / self.columns
        return self.first * math.exp(part * math.log(self.last / self.first))

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
    return [*lines, _range_line(span, low, high, price), _axis(span, low, high, price)]


def _columns(levels: Sequence[int], floor: int) -> str:
    return "".join(_DEPTH_EIGHTHS[max(0, min(8, level - floor))] for level in levels)


def _coloured(cells: str, tones: Sequence[DrawnTone]) -> Line:
    """One piece for each run of a tone."""
    pieces, start = [], 0
    for tone, run in groupby(tones):
        end = start + len(list(run))
        pieces.append(StyledText(cells[start:end], tone))
        start = end
    return tuple(pieces)


def _resampled(points: Sequence[tuple[float, float]], span: _Span) -> list[float]:
    """The liquidity at evenly spaced ticks; between two points it is that of the lower one."""
    depths, at = [], 0
    for column in range(span.columns):
        price = span.price(column)
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
    return merge_pieces(
        [StyledText("".join(cells[:at])), mark, StyledText("".join(cells[at + 1 :]))]
    )


def _axis(span: _Span, low: float, high: float, now: float) -> Line:
    """The range's ends and the price under their marks, and the picture's own ends where there is
    room for them."""
    cells = [" "] * span.columns
    ends = [edge for edge in (low, high) if span.first <= edge <= span.last]
    for price in (*ends, now, span.first, span.last):
        words = figure(price)
        begin = max(0, min(span.columns - len(words), span.place(price) - len(words) // 2))
        around = cells[max(0, begin - 2) : begin + len(words) + 2]
        if not "".join(around).strip():
            cells[begin : begin + len(words)] = words
    return (StyledText("".join(cells), "dim"),)


_STRETCHES = 96


def liquidity_points(pair: Pair, depth: Depth, reach: int) -> tuple[tuple[float, float], ...]:
    """Price and the liquidity active there, the lowest price first; none without decimals."""
    tick = depth.state.tick
    lowest = max(tick - reach, depth.lowest, MIN_TICK)
    highest = min(tick + reach, depth.highest, MAX_TICK)
    steps = [step for step in depth.steps() if step[0] < step[1]]
    starts = [start for start, _, _ in steps]
    points = []
    for place in range(_STRETCHES + 1):
        at = lowest + (highest - lowest) * place // _STRETCHES
        price = pair.price(sqrt_price_at_tick(at))
        if price is None:
            return ()
        _, end, liquidity = steps[max(0, bisect_right(starts, at) - 1)]
        points.append((price.value, float(liquidity if at < end else 0)))
    return tuple(sorted(points))


def range_chart(
    pair: Pair, identity: PositionIdentity, points: Sequence[tuple[int, int]]
) -> ChartView | None:
    """Times and square-root prices, oldest first; None where decimals are unknown."""
    ticks = identity.tick_lower, identity.tick_upper
    edges = [price_figure(pair, sqrt_price_at_tick(tick)) for tick in ticks]
    known = sorted(edge for edge in edges if edge is not None)
    if len(known) != len(ticks) or not points:
        return None
    return ChartView(
        times=tuple(float(time) for time, _ in points),
        prices=tuple(price_figure(pair, price) or 0.0 for _, price in points),
        low=known[0],
        high=known[1],
    )


def price_figure(pair: Pair, sqrt_price: int) -> float | None:
    price = pair.price(sqrt_price)
    return None if price is None else price.value
