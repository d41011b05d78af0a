"""The plan card's comparison: hold, the moves and exit side by side, in the width there is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from chain.base.clean_text import DROP
from zuno_tui.present.drawing.pieces import survival_bar
from zuno_tui.screen.panes.table_layout import fitted

if TYPE_CHECKING:
    from zuno_tui.present.views import OptionView, PlanView

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


_NARROWEST = 11
_WIDEST = 20
_LONGEST_LABEL = 12
_PERCENT = 6
_GUTTER = 3
"""Cells before a bar, so that it is seen whose it is."""
_RANGE = " – "
BRIEF = ("net in 7 d", "cost", "earned back")
"""What is told of an option at first, beside its range and how likely it is kept."""


def comparison(
    plan: PlanView, chosen: int, width: int, *, whole: bool = False
) -> Iterator[Content]:
    """The card's lines; `chosen` is the option the keys are on, `whole` tells every figure."""
    if not plan.options:
        return
    yield from _picture(plan.options, chosen, width)
    yield Content("")
    yield from _table(plan.options, chosen, width, whole=whole)


def reasons(plan: PlanView, width: int) -> Iterator[Content]:
    for reason in plan.reasons:
        yield from bulleted(reason, width)


def bulleted(text: str, width: int, bullet: str = "•", style: str = "") -> Iterator[Content]:
    """A sentence wrapped under itself."""
    clean = text.translate(DROP)
    indent = len(bullet) + 1
    for place, line in enumerate(textwrap.wrap(clean, max(10, width - indent))):
        head = f"{bullet} " if place == 0 else " " * indent
        yield Content.assemble((head, "$quiet"), (line, style))


def _picture(options: Sequence[OptionView], chosen: int, width: int) -> Iterator[Content]:
    ranges = [option.edges for option in options if option.edges is not None]
    if not ranges:
        return
    label = max(cell_len(_name(option)) for option in options) + 1
    scale = scale_of(ranges, max(10, width - label))
    for place, option in enumerate(options):
        if option.edges is None:
            continue
        style = _option_style(option, chosen=place == chosen)
        yield Content.assemble(
            (fitted(_name(option), label), style),
            (range_line(option.edges, scale), style),
        )


def _table(
    options: Sequence[OptionView], chosen: int, width: int, *, whole: bool
) -> Iterator[Content]:
    labels = [name for name in options[0].figures if whole or name in BRIEF]
    label = min(_LONGEST_LABEL, max(cell_len(each) for each in (*labels, "stays 24 h"))) + 1
    shown = _window(options, chosen, max(1, (width - label) // _NARROWEST))
    columns = _column_widths([options[place] for place in shown], width - label)
    hidden = len(shown) < len(options)
    told = [options[place] for place in shown]
    styles = [_option_style(options[place], chosen=place == chosen) for place in shown]

    def line(name: str, words: Sequence[str], styles: Sequence[str]) -> Content:
        cells = [
            (fitted(word, column - 1, right=True) + " ", style)
            for word, style, column in zip(words, styles, columns, strict=True)
        ]
        return Content.assemble((fitted(name, label), "$quiet"), *cells)

    plain = [""] * len(told)
    yield line(
        f"‹{chosen + 1} of {len(options)}›" if hidden else "",
        [_name(one) for one in told],
        [f"{style} bold" for style in styles],
    )
    if any(one.low for one in told):
        yield from _ranges(told, columns, line, plain)
    bars = [max(3, column - _GUTTER - _PERCENT) for column in columns]
    day = ("stays 24 h", [one.survives_day for one in told])
    week = ("stays 7 d", [one.survives_week for one in told])
    for name, parts in (day, week) if whole else (day,):
        if any(part is not None for part in parts):
            drawn = [survival_bar(part, bar) for part, bar in zip(parts, bars, strict=True)]
            yield line(name, drawn, styles)
    for name in labels:
        yield line(name, [one.figures.get(name, "–") for one in told], plain)


def _column_widths(told: Sequence[OptionView], room: int) -> list[int]:
    """Alike, but those without a range leave what they do not need to those that have one."""
    alike = min(_WIDEST, room // len(told))
    ranged = sum(1 for one in told if one.low)
    if not ranged or ranged == len(told):
        return [alike] * len(told)
    rest = room - (len(told) - ranged) * _NARROWEST
    return [min(_WIDEST, rest // ranged) if one.low else min(_NARROWEST, alike) for one in told]


def _ranges(
    told: Sequence[OptionView],
    columns: Sequence[int],
    line: Callable[[str, Sequence[str], Sequence[str]], Content],
    plain: Sequence[str],
) -> Iterator[Content]:
    """In one row where every range fits its column, else its edges under each other."""
    whole = [f"{one.low}{_RANGE}{one.high}" if one.low else "–" for one in told]
    if all(cell_len(words) < column for words, column in zip(whole, columns, strict=True)):
        yield line("range", whole, plain)
        return
    yield line("from", [one.low for one in told], plain)
    yield line("to", [one.high for one in told], plain)


def _window(options: Sequence[OptionView], chosen: int, room: int) -> list[int]:
    """The options in sight: as many as fit, the chosen one and what it is measured against."""
    count = len(options)
    if room >= count:
        return list(range(count))
    pinned = [0] if options[0].candidate is None and room > 1 else []
    room -= len(pinned)
    first = max(len(pinned), min(chosen - room // 2, count - room))
    return [*pinned, *range(first, first + room)]


def _name(option: OptionView) -> str:
    return f"★ {option.name}" if option.recommended else option.name


def _option_style(option: OptionView, *, chosen: bool) -> str:
    colour = "$success" if option.recommended else "$foreground"
    return f"{colour} bold" if chosen else colour
