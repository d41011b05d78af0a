"""A command's answer as a page: an answer first, tables, pictures; drawn once, for any width."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from chain.base.clean_text import DROP
from zuno_tui.present.charts import (
    DrawnTone,
    Line,
    StyledText,
    day_bars,
    either_side,
    figure,
    merge_pieces,
    price_chart,
    result_chart,
    thin_bar,
)
from zuno_tui.present.terminal import (
    OutputColumn,
    Terminal,
    cell_lines,
    cell_width,
    column_groups,
    column_limits,
)
from zuno_tui.present.views import ChartView

_GAP = 2
_INDENT = "    "
_BAR = 8
_LONGEST_BAR = 30
_LONGEST_GAUGE = 60
_WIDTH_OF_PICTURES = 100
"""Where lines go to a file, or to a program that reads them."""
_HEIGHT = 10


class PageCell(NamedTuple):
    text: str
    tone: DrawnTone = "plain"
    part: float | None = None
    """Drawn as a bar beside the text: how long, of the longest in its column."""


Cells = tuple[PageCell, ...]


class PageColumn(OutputColumn, frozen=True):
    from_width: int = 0
    """Left out where the page is narrower: nothing that another page does not show."""


def page_columns(*titles: str) -> tuple[PageColumn, ...]:
    """By their titles: one that ends in > is set flush right, one that ends in @120 needs 120
    cells."""
    return tuple(map(_page_column, titles))


def _page_column(title: str) -> PageColumn:
    named, _, width = title.partition("@")
    align: Literal["left", "right"] = "right" if named.endswith(">") else "left"
    return PageColumn(named.removesuffix(">"), align, int(width or 0))


class PageHeadline(Struct, frozen=True):
    """What the page says in one line, and what belongs beside it."""

    words: str
    beside: str = ""
    tone: DrawnTone = "title"

    def lines(self, width: int | None) -> Iterator[Line]:
        """In one line where both fit, else one under the other."""
        words, beside = self.words.translate(DROP), self.beside.translate(DROP)
        together = cell_width(words) + _GAP + cell_width(beside)
        if beside and (width is None or together <= width):
            yield StyledText(words, self.tone), StyledText(f"{' ' * _GAP}{beside}", "dim")
            return
        yield from _wrapped(words, self.tone, width)
        if beside:
            yield from _wrapped(beside, "dim", width)


class Words(Struct, frozen=True):
    text: str
    tone: DrawnTone = "dim"

    def lines(self, width: int | None) -> Iterator[Line]:
        return _wrapped(self.text.translate(DROP), self.tone, width)


def next_steps(*steps: str) -> Words:
    """What a person may type next, said once at the end of a page."""
    return Words(f"Next: {' · '.join(steps)}", "plain")


class PageTable(Struct, frozen=True):
    columns: tuple[PageColumn, ...]
    rows: tuple[Cells, ...]
    sums: tuple[Cells, ...] = ()
    """Below a rule."""

    def lines(self, width: int | None) -> Iterator[Line]:
        return _table(self, width)


class Curve(Struct, frozen=True):
    """A price through time, with a range or levels across it."""

    chart: ChartView
    height: int = _HEIGHT

    def lines(self, width: int | None) -> list[Line]:
        return price_chart(self.chart, width or _WIDTH_OF_PICTURES, self.height)


class GainCurve(Struct, frozen=True):
    times: tuple[float, ...]
    values: tuple[float, ...]
    height: int = _HEIGHT

    def lines(self, width: int | None) -> list[Line]:
        return result_chart(self.times, self.values, width or _WIDTH_OF_PICTURES, self.height)


class DayBars(Struct, frozen=True):
    """Fees and LVR of each day: its name, the two, in the unit a person counts in."""

    days: tuple[tuple[str, float, float], ...]
    unit: str = ""

    def lines(self, width: int | None) -> list[Line]:
        return day_bars(self.days, min(width or sys.maxsize, _WIDTH_OF_PICTURES), self.unit)


class RangeGauge(Struct, frozen=True):
    """`order 1  2,827 ├────┃───●─────┤ 3,351  now 3,016`: a range, a level and the price."""

    before: str
    low: float
    high: float
    price: float
    level: float | None
    after: str

    def lines(self, width: int | None) -> Iterator[Line]:
        ends = f"{figure(self.low)} ", f" {figure(self.high)}"
        taken = sum(map(cell_width, (self.before, self.after, *ends)))
        free = (width or _WIDTH_OF_PICTURES) - taken
        room = min(_LONGEST_GAUGE, free if free >= _BAR else free + cell_width(self.after))
        cells = ["├", *"─" * (max(_BAR, room) - 2), "┤"]
        if self.level is not None:
            cells[self._place(self.level, len(cells))] = "┃"
        cells[self._place(self.price, len(cells))] = "●"
        inside = self.low <= self.price < self.high
        drawn = StyledText("".join(cells), "good" if inside else "bad")
        line = StyledText(self.before, "dim"), StyledText(ends[0]), drawn, StyledText(ends[1])
        if free >= _BAR:
            yield (*line, StyledText(self.after, "dim"))
        else:
            yield line
            yield from _wrapped(f"{' ' * len(self.before)}{self.after.strip()}", "dim", width)

    def _place(self, price: float, cells: int) -> int:
        part = (price - self.low) / (self.high - self.low)
        return max(0, min(cells - 1, 1 + int(part * (cells - 2))))


class DrawnLines(Struct, frozen=True):
    """A picture that is as wide as it is."""

    drawn: tuple[Line, ...]

    def lines(self, _width: int | None) -> tuple[Line, ...]:
        return self.drawn


Block = PageHeadline | Words | PageTable | Curve | GainCurve | DayBars | RangeGauge | DrawnLines


class Page(Struct, frozen=True):
    title: str
    sections: tuple[tuple[Block, ...], ...]
    """A blank line between two of them; an empty one leaves no trace."""


def draw_page(page: Page, width: int | None) -> list[Line]:
    """In at most this many cells; None is as wide as it likes."""
    lines: list[Line] = []
    for section in page.sections:
        drawn = [line for block in section for line in block.lines(width)]
        if drawn:
            lines.extend(([()] if lines else []) + drawn)
    return lines


def _wrapped(text: str, tone: DrawnTone, width: int | None) -> Iterator[Line]:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    for line in textwrap.wrap(text, width or max(1, len(text)), subsequent_indent=indent):
        yield (StyledText(line, tone),)


def _table(table: PageTable, width: int | None) -> Iterator[Line]:
    kept = [
        place
        for place, column in enumerate(table.columns)
        if width is None or column.from_width <= width
    ]
    columns = [table.columns[place] for place in kept]
    head = [PageCell(column.title, "dim") for column in columns]
    rows = [head, *([_cleaned(row[at]) for at in kept] for row in (*table.rows, *table.sums))]
    places = range(len(columns))
    texts = [max(cell_width(row[at].text) for row in rows) for at in places]
    barred = [any(row[at].part is not None for row in rows) for at in places]
    bar = _bar_room(texts, width) if any(barred) else 0
    loses = [barred[at] and any(row[at].tone == "bad" for row in rows) for at in places]
    widths = [text + (bar + 1) * has for text, has in zip(texts, barred, strict=True)]
    groups = column_groups(widths, width)
    limits = [column_limits(widths, group, columns, width) for group in groups]
    for number, row in enumerate(rows):
        if table.sums and number == 1 + len(table.rows):
            longest = min(sum(widths) + _GAP * (len(widths) - 1), width or sys.maxsize)
            yield (StyledText("─" * longest, "dim"),)
        for place, (group, limit) in enumerate(zip(groups, limits, strict=True)):
            cells = [
                _FittedCell(
                    row[at],
                    limit.get(at, texts[at] if barred[at] else widths[at]),
                    bar if barred[at] else 0,
                    right=columns[at].align == "right",
                    has_losses=loses[at],
                )
                for at in group
            ]
            yield from _row_lines(cells, _INDENT if place else "")


def _cleaned(cell: PageCell) -> PageCell:
    text, tone, part = cell
    return PageCell(text.translate(DROP), tone, part)


def _bar_room(texts: Sequence[int], width: int | None) -> int:
    """How long bars may be: what other cells leave, within bounds."""
    free = (width or _WIDTH_OF_PICTURES) - sum(texts) - _GAP * len(texts)
    return -1 if free < _BAR else min(free, _LONGEST_BAR)


class _FittedCell(Struct, frozen=True):
    cell: PageCell
    room: int
    bar: int
    right: bool
    has_losses: bool
    """Whether bars of its column go either way from a middle that is nothing."""

    def pieces(self, line: int) -> Iterator[StyledText]:
        """What stands in one line of it: a text too long for its column takes several."""
        shown = self.texts
        text = shown[line] if line < len(shown) else ""
        space = " " * (self.room - cell_width(text))
        if self.right:
            yield StyledText(space)
        yield StyledText(text, self.cell.tone)
        if not self.right:
            yield StyledText(space)
        if self.bar > 0:
            part = self.cell.part if not line else None
            tone = self.cell.tone if self.cell.tone in ("good", "bad") else "dim"
            if not self.has_losses:
                yield StyledText(f" {thin_bar(part or 0, self.bar)}", tone)
                return
            before, after = either_side(part or 0, self.bar, loses=tone == "bad")
            middle = " " if part is None else "│"
            yield StyledText(f" {before}", tone)
            yield StyledText(middle, "dim")
            yield StyledText(after, tone)

    @property
    def texts(self) -> list[str]:
        return cell_lines(self.cell.text, self.room)


def _row_lines(cells: Sequence[_FittedCell], indent: str) -> Iterator[Line]:
    for line in range(max(len(cell.texts) for cell in cells)):
        pieces: list[StyledText] = [StyledText(indent)]
        for cell in cells:
            if len(pieces) > 1:
                pieces.append(StyledText(" " * _GAP))
            pieces += cell.pieces(line)
        while len(pieces) > 1 and not pieces[-1].text.strip():
            pieces.pop()
        last = pieces[-1]
        yield merge_pieces([*pieces[:-1], StyledText(last.text.rstrip(), last.tone)])


def page_lines(page: Page) -> list[str]:
    """Without colours, as wide as they like."""
    return [_shell_line(line, colours=False) for line in draw_page(page, None)]


_STYLES: dict[DrawnTone, str] = {
    "good": "32",
    "warn": "33",
    "bad": "31",
    "dim": "2",
    "shade": "2",
    "good shade": "2;32",
    "strong": "1",
    "strong warn": "1;33",
    "title": "1",
}


def page_text(page: Page, terminal: Terminal) -> str:
    """The same lines for a shell, with its colours where it has them."""
    lines = draw_page(page, terminal.width)
    return "".join(f"{_shell_line(line, colours=terminal.colours)}\n" for line in lines)


def _shell_line(line: Line, *, colours: bool) -> str:
    if not colours:
        return "".join(text for text, _ in line).rstrip()
    return "".join(
        f"\x1b[{_STYLES[tone]}m{text}\x1b[0m" if tone in _STYLES and text.strip() else text
        for text, tone in line
    ).rstrip()
