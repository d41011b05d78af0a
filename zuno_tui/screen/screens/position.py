"""One position with everything that is known of it: pictures, facts, history, its hook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content

from chain.base.units import DAY
from chain.protocols.reference import position_name
from zuno_tui.desk.events import DetailReady, Event
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intents import ChooseRange, Recommend
from zuno_tui.present.charts import (
    day_bars,
    depth_picture,
    figure,
    plain,
    price_chart,
    wide_gauge,
    window_chart,
)
from zuno_tui.present.position import KeyFigure
from zuno_tui.screen.keys import DETAIL
from zuno_tui.screen.panes.frame import frame, heading, join_parts, literal
from zuno_tui.screen.panes.text import KeyLine, PlainText, draw_lines
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from zuno_tui.present.position import DetailView
    from zuno_tui.present.views import Standing, Tone

_WITH_CHART, _WITH_BOTH = 1, 3
"""Headings, and the blank line between the pictures."""
_SHORTEST_CHART = 8
_SHORTEST_DEPTH, _TALLEST_DEPTH = 4, 9
_PART_OF_DEPTH = 5
_LABEL = 13
_GAP = 3
_FIGURE = 17
_PARTS = ("=", "+")
_BY_PRICES = "+ token prices"
"""What a result is made of stands where it is added up."""
_WIDEST_GAUGE = 72
_FARTHEST = 9.999
"""A part of the price; what is farther away is never reached."""
_RANGE_IN_CHART = 110
"""The width from which the chart stands beside the facts, high enough to show the range."""
_NARROWEST = 30
_WINDOWS: tuple[tuple[str, float | None], ...] = (
    ("1 d", DAY),
    ("7 d", 7 * DAY),
    ("30 d", 30 * DAY),
    ("since entry", None),
)
_WEEK = 1
_FIGURE_STYLES = {
    "plain": "",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
    "dim": "$quiet",
}
_HELD = "vs holding"
"""Of all the time since entry, like the result; no part of the sum that makes it."""
_FIRST = ("profit", "result")
_SIGNED = {
    "put in": "− put in",
    "came out": "+ came out",
    "now + fees": "+ worth & fees",
    "costs": "− costs",
    "result": "result =",
}
_RANGE_TONES: dict[Standing, Tone] = {
    "in range": "good",
    "near edge": "warn",
    "out of range": "bad",
    "empty": "dim",
}


class PositionScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*DETAIL]
    ABOUT = "position"

    def __init__(self, link: DeskLink, view: DetailView) -> None:
        super().__init__(link)
        self._view = view
        self._window = _WEEK
        self._copied = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="detail", classes="visit", can_focus=False) as page:
            page.border_title = _title(self._view)
            yield PlainText(id="figures")
            with Container(id="detail-columns"):
                yield PlainText(id="pictures")
                yield PlainText(id="facts")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(self.query_one("#detail"), "scroll_y", self._tell_rest, init=False)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        """The same position read again, or another one asked for from here."""
        match event:
            case DetailReady(view, opens) if opens or view.ref == self._view.ref:
                self._view, self._copied = view, False
                self._draw()
                return True
            case _:
                return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Of somebody else's position there is nothing to do."""
        if self._view.owned_by and action in ("recommend", "range", "offer"):
            return False
        return super().check_action(action, parameters)

    def action_window(self) -> None:
        self._window = (self._window + 1) % len(_WINDOWS)
        self._draw()

    def action_recommend(self) -> None:
        self.leave_asking(Recommend(self._view.ref))

    def action_range(self) -> None:
        self.leave_asking(ChooseRange(position_name(self._view.ref)))

    def action_offer(self, verb: str) -> None:
        self.leave_with(f"{verb} {position_name(self._view.ref)}")

    def action_scroll_lines(self, step: int) -> None:
        self.query_one("#detail", VerticalScroll).scroll_relative(y=step, animate=False)

    def action_copy_facts(self) -> None:
        self.app.copy_to_clipboard("\n".join(self._view.copied))
        self._copied = True
        self._tell_rest()

    def _draw(self) -> None:
        figures, pictures, facts = (
            self.query_one(name, PlainText) for name in ("#figures", "#pictures", "#facts")
        )
        above, width, beside = (
            max(_NARROWEST, each.content_size.width) for each in (figures, pictures, facts)
        )
        top, words = list(_figures(self._view, above)), list(_words(self._view, beside))
        room = self.query_one("#detail").size.height - len(top) - 1
        if facts.region.y > pictures.region.y:
            room -= len(words) + 1
        figures.update(_stacked(top))
        pictures.update(_stacked(_pictures(self._view, self._window, width, room)))
        facts.update(_stacked(words))
        self.call_after_refresh(self._tell_rest)

    def _tell_rest(self) -> None:
        """How many lines are below what is in sight."""
        page = self.query_one("#detail", VerticalScroll)
        below = round(page.max_scroll_y - page.scroll_y)
        more = literal(f"▼ {below} more", "bold") if below > 0 else ""
        frame(page, _title(self._view), join_parts("copied" if self._copied else "", more))


def _title(view: DetailView) -> Content:
    title = literal(view.title)
    if view.standing is None or not title.plain.endswith(view.standing.state):
        return title
    tone = _FIGURE_STYLES[_RANGE_TONES[view.standing.state]]
    return title.stylize(tone, len(title.plain) - len(view.standing.state))


def _figures(view: DetailView, width: int) -> Iterator[Content]:
    """What one looks for first, in as few lines as it needs; then the range."""
    if view.owned_by:
        yield literal(f"Not yours: {view.owned_by} owns it.", "bold $warning")
    now = [each for each in view.figures if each.label != _HELD]
    in_chart = width >= _RANGE_IN_CHART and view.price is not None and bool(view.price.prices)
    if in_chart:
        now += _range_figures(view)
    entry = list(_since_entry(view))
    room = width - _LABEL
    needed = [cells for each in (now, entry) if (cells := _cells(each)) <= room // 2]
    most = max(1, len(now), len(entry))
    wide = max([min(_FIGURE, room // most), *needed])
    for title, figures in (("NOW", now), ("SINCE ENTRY", entry)):
        if title != "NOW" and now and figures:
            yield Content("")
        for place, line in enumerate(_figure_lines(figures, room, wide)):
            yield Content.assemble(("" if place else title).ljust(_LABEL), line).stylize(
                "bold $primary", 0, _LABEL
            )
    if _in_dollars(entry) and not _in_dollars(now):
        words = "Dollars: the profit counts each amount at the price of its time."
        yield literal(" " * _LABEL + words, "$quiet")
    if (at := view.standing) is not None and not in_chart:
        if now or entry:
            yield Content("")
        beside = _LABEL + len(at.unit) + _GAP
        gauge = min(_WIDEST_GAUGE, width - beside)
        yield Content(" " * _GAP).join(
            [
                literal(f"{'RANGE':<{_LABEL - _GAP}}", "bold $primary"),
                literal(
                    wide_gauge(at.progress, at.low, at.high, gauge).strip(),
                    _FIGURE_STYLES[_RANGE_TONES[at.state]],
                ),
                literal(at.unit, "$quiet"),
            ]
        )


def _in_dollars(figures: Sequence[KeyFigure]) -> bool:
    return any("$" in each.words for each in figures)


def _range_figures(view: DetailView) -> Iterator[KeyFigure]:
    """In figures, where the picture of the range is the chart."""
    at, chart = view.standing, view.price
    if at is not None and chart is not None and (price := chart.prices[-1]):
        ends = (
            f"{max(-1.0, min(_FARTHEST, edge / price - 1)):+.1%}".replace("-0.0%", "0.0%")
            for edge in (chart.low, chart.high)
        )
        yield KeyFigure("price", figure(price))
        yield KeyFigure("range ends at", ", ".join(ends).replace("-", "−"), _RANGE_TONES[at.state])


def _since_entry(view: DetailView) -> Iterator[KeyFigure]:
    """What came of it first, then the sums that make it."""
    told = [each for each in view.profit if not each.label.startswith(_PARTS)]
    told += [each for each in view.figures if each.label == _HELD]
    told.sort(key=lambda each: each.label not in _FIRST)
    yield from (each._replace(label=_SIGNED.get(each.label, each.label)) for each in told)


def _cells(figures: Sequence[KeyFigure]) -> int:
    """What the widest of them takes, label or figure."""
    return max((len(part) + 2 for each in figures for part in each[:2]), default=0)


def _figure_lines(figures: Sequence[KeyFigure], width: int, wide: int) -> Iterator[Content]:
    """Each under its label, in columns of one width, as many side by side as there is room for."""
    if _cells(figures) > wide:  # a reason in place of a figure
        yield from (literal(f"{each.label} {each.words}", "$quiet") for each in figures)
        return
    beside = max(1, width // wide)
    for first in range(0, len(figures), beside):
        told = figures[first : first + beside]
        yield Content("").join([literal(f"{each.label:<{wide}}", "$quiet") for each in told])
        yield Content("").join(
            [
                literal(f"{each.words:<{wide}}", _figure_style(each, leads=first + place == 0))
                for place, each in enumerate(told)
            ]
        )


def _figure_style(figure: KeyFigure, *, leads: bool) -> str:
    return f"bold {_FIGURE_STYLES[figure.tone]}".strip() if leads else _FIGURE_STYLES[figure.tone]


def _pictures(view: DetailView, window: int, width: int, height: int) -> Iterator[Content]:
    """As high as there is room for all of them, and never so low that nothing can be seen."""
    room = height - (_WITH_BOTH if view.liquidity else _WITH_CHART)
    deep = min(_TALLEST_DEPTH, max(_SHORTEST_DEPTH, room // _PART_OF_DEPTH))
    tall = max(_SHORTEST_CHART, room - (deep if view.liquidity else 0))
    chart = view.price
    if chart is None or not chart.prices:
        yield heading("PRICE")
        yield literal("No swap of this pool is known yet.", "$quiet")
    else:
        name, seconds = _WINDOWS[window]
        after, _ = _WINDOWS[(window + 1) % len(_WINDOWS)]
        unit = "" if view.standing is None else f"{view.standing.unit} · "
        title = heading("PRICE", f"{unit}{name} · ")
        yield Content.assemble(title, ("w", "bold $primary"), (f" {after}", "$quiet"))
        yield draw_lines(price_chart(window_chart(chart, seconds), width, tall))
    if chart is not None and chart.prices and view.liquidity:
        yield Content("")
        whose = "its" if view.owned_by else "your"
        yield heading("LIQUIDITY", f"of the pool, and {whose} range in it")
        yield draw_lines(
            depth_picture(
                view.liquidity,
                low=chart.low,
                high=chart.high,
                price=chart.prices[-1],
                width=width,
                height=deep,
            )
        )


def _days(view: DetailView, width: int) -> Iterator[Content]:
    yield heading("BY DAY", "fees less what arbitrage took (LVR), UTC")
    if not view.fees_by_day:
        yield literal("No whole day is known yet.", "$quiet")
        return
    sums = (*view.days_sum[1:], *_from_holding(view))  # the first is the table's sum
    unit = "$" if any("$" in figure.words for figure in view.days_sum) else ""
    bars = day_bars(view.fees_by_day, width, unit)
    yield from (draw_lines([line]) for line in bars)
    edge = len(plain(bars[0]))
    if sums:
        yield Content("")
    for each in sums:
        words = each.words.replace("$", "")
        yield Content.assemble(
            literal(f"{each.label.removeprefix('+ '):<{max(0, edge - len(words))}}", "$quiet"),
            literal(words, _figure_style(each, leads=each.label.endswith("since entry"))),
        )


def _from_holding(view: DetailView) -> Iterator[KeyFigure]:
    """From the result against holding to the one in dollars."""
    for part in view.profit:
        if part.label == _BY_PRICES:
            yield part._replace(label="+ token prices")
            yield from (
                each._replace(label="= result since entry")
                for each in view.profit
                if each.label == "result"
            )


def _words(view: DetailView, width: int) -> Iterator[Content]:
    yield from _days(view, width)
    yield Content("")
    yield heading("FACTS", "y: copy, with full addresses")
    for label, words in view.facts:
        lines = wrap(words, width - _LABEL, break_on_hyphens=False) or [""]
        for place, line in enumerate(lines):
            yield Content.assemble(
                literal(f"{'' if place else label:<{_LABEL}}", "$quiet"), literal(line)
            )
    if view.hook:
        yield Content("")
        yield heading("HOOK", "what it may do to you")
        yield from _wrapped(view.hook, width)
    yield Content("")
    yield heading("HISTORY")
    yield from _wrapped(view.history or ("Nothing is known about it.",), width)


def _wrapped(sentences: Sequence[str], width: int) -> Iterator[Content]:
    """What does not fit goes on a little to the right."""
    for sentence in sentences:
        lines = wrap(sentence, width, subsequent_indent="  ", break_on_hyphens=False)
        yield from map(literal, lines)


def _stacked(parts: Iterable[Content]) -> Content:
    return Content("\n").join(parts)
