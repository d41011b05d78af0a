"""A range of one's own as a form: its edges moved by keys, and all that follows told at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content

from zuno_tui.desk.events import Event, RangeReady, StatusChanged
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intents import CreatePosition, MovePosition
from zuno_tui.present.charts import depth_picture, price_chart
from zuno_tui.present.views import RangePreview
from zuno_tui.screen.keys import CHOOSING
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.text import KeyLine, PlainText, draw_lines
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from zuno_tui.present.range_form import RangeForm

EdgeName = Literal["low", "high", "both"]
_EDGES: tuple[EdgeName, ...] = ("low", "high", "both")
_GAP, _WIDEST_GAP = 2, 8
_SHORTEST_CHART, _SHORTEST_DEPTH, _TALLEST_DEPTH = 4, 3, 20
_PART_OF_DEPTH = 3
_WITH_HEADINGS = 16
"""Lines of a picture from which there is room for headings."""
_NARROWEST = 30
_COLUMNS = ("", "NOW", "YOURS", "CHANGE")
_CHANGE = 10
_OBJECTIONS = 7
"""Lines kept free for what the floors have against a range: no picture jumps when it comes."""
_TONES = {"plain": "", "good": "$success", "warn": "$warning", "bad": "$error", "dim": "$quiet"}
_ROOM = 1.3
"""How much farther a picture shows once an edge has left it: the next steps find it standing."""


_DEPTH_HEADING = heading("LIQUIDITY", "of all others; below it your range")


class RangeScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*CHOOSING]
    ABOUT = "range"

    def __init__(self, link: DeskLink, ready: RangeReady) -> None:
        super().__init__(link)
        self._ready = ready
        self._place = 0
        self._edge: EdgeName = "low"
        self._ticks = self._form.begins
        self._preview = self._form.preview(self._ticks)
        self._reach = 0
        self._depth: tuple[tuple[float, float], ...] = ()
        self._newest = self._form.context.block

    @property
    def _form(self) -> RangeForm:
        return self._ready.forms[self._place]

    @property
    def preview(self) -> RangePreview:
        return self._preview

    def compose(self) -> ComposeResult:
        with Vertical(id="range", classes="visit"):
            yield PlainText(id="range-edges")
            with Container(id="range-columns"):
                yield PlainText(id="range-pictures")
                yield PlainText(id="range-figures")
            yield PlainText(id="range-words")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._say_block()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._draw)

    def hear(self, event: Event) -> bool:
        match event:
            case RangeReady(asked) if asked == self._ready.asked:
                self._ready = event
                self._place = min(self._place, len(event.forms) - 1)
                self._newest = max(self._newest, self._form.context.block)
                self._look_anew()
                return True
            case StatusChanged(view) if view.block is not None:
                self._newest = max(self._newest, view.block)
                self._say_block()
            case _:
                pass
        return False

    def action_edge(self, step: int) -> None:
        self._edge = _EDGES[(_EDGES.index(self._edge) + step) % len(_EDGES)]
        self._draw_edges()

    def action_shift(self, steps: int) -> None:
        self._move_edge(steps * self._form.step)

    def action_fine(self, steps: int) -> None:
        self._move_edge(steps * self._form.evaluation.observed.pool.tick_spacing)

    def action_widen(self, steps: int) -> None:
        by = steps * self._form.step
        self._choose(self._form.move_edges(self._ticks, -by, by))

    def action_centre(self) -> None:
        self._choose(self._form.centre(self._ticks.width))

    def action_begin(self) -> None:
        self._choose(self._form.begins)

    def action_pool(self) -> None:
        """The next pool; a range around one price is not carried to another."""
        self._place = (self._place + 1) % len(self._ready.forms)
        self._ticks = self._form.begins
        self._look_anew()

    def action_anew(self) -> None:
        self.link.ask(self._ready.asked)

    def action_plan(self) -> None:
        if (intent := self._intent()) is not None:
            self.leave_asking(intent)

    def action_words(self) -> None:
        if (intent := self._intent()) is not None:
            self.leave_with(intent.title.replace("'", ""))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "pool":
                return len(self._ready.forms) > 1
            case "plan" | "words":
                return not self._preview.trouble
            case _:
                return super().check_action(action, parameters)

    def _move_edge(self, by: int) -> None:
        low = by if self._edge in ("low", "both") else 0
        high = by if self._edge in ("high", "both") else 0
        self._choose(self._form.move_edges(self._ticks, low, high))

    def _choose(self, ticks: tuple[int, int]) -> None:
        before = self._preview.trouble
        self._ticks = type(self._ticks)(*ticks)
        self._preview = self._form.preview(self._ticks)
        self._draw()
        if bool(before) != bool(self._preview.trouble):
            self._show_keys()

    def _look_anew(self) -> None:
        self._reach = 0
        self._choose(self._ticks)
        self._say_block()
        self._show_keys()

    def _intent(self) -> MovePosition | CreatePosition | None:
        from zuno_tui.app.range import plan_request

        try:
            return plan_request(self._form, self._ticks)
        except SettingsError as error:
            self._text("#range-words").update(literal(f"▲ {error}", "$warning"), layout=False)
            return None

    def _draw(self) -> None:
        """Every text has its place and keeps it: nothing is laid out again for a key."""
        self._draw_edges()
        pictures, figures = self._text("#range-pictures"), self._text("#range-figures")
        width, height = pictures.content_size
        if width and height:
            if (needed := self._form.reach(self._ticks)) > self._reach:
                self._reach = round(needed * _ROOM) if self._reach else needed
                self._depth = self._form.liquidity(self._reach)
            beside = bool(self._depth_beside(figures))
            drawing = self._picture_lines(max(_NARROWEST, width), height, beside=beside)
            pictures.update(Content("\n").join(drawing), layout=False)
        wide, high = figures.content_size
        lines = list(_figure_lines(self._preview, wide, high))
        against = list(_objection_lines(self._preview, wide)) if wide else []
        listed = len(lines) + len(against) <= high and len(against) <= _OBJECTIONS
        lines += against if listed else ()
        if deep := self._depth_beside(figures):
            lines += [Content("")] * (high - deep - 1 - len(lines))
            lines += [_DEPTH_HEADING, self._depth_drawn(wide, deep)]
        figures.update(Content("\n").join(lines), layout=False)
        self._text("#range-words").update(_remark(self._preview, listed=listed), layout=False)

    def _depth_beside(self, figures: PlainText) -> int:
        """How high the liquidity is drawn under the figures; 0 where it is under the prices."""
        pictures = self._text("#range-pictures")
        if figures.region.x <= pictures.region.x or not self._depth:
            return 0
        room = figures.content_size.height - _lines_needed(self._preview) - _OBJECTIONS - 1
        return min(_TALLEST_DEPTH, room) if room >= _SHORTEST_DEPTH else 0

    def _draw_edges(self) -> None:
        preview, pair = self._preview, self._form.pair
        told = []
        for name, price, part in zip(
            _EDGES[:2], (preview.low, preview.high), preview.parts, strict=True
        ):
            chosen = self._edge in (name, "both")
            words = f"{name} {price} ({part})"
            told.append(literal(f"◂ {words} ▸" if chosen else f"  {words}  ", _edge_style(chosen)))
        now = pair.price_text(self._form.evaluation.sqrt_price)
        told.append(literal(f"price {now}", "$warning"))
        told.append(literal(f"{pair.quote.label} per {pair.base.label}", "$quiet"))
        line = self._text("#range-edges")
        while sum(part.cell_length + _GAP for part in told) - _GAP > line.size.width > 0:
            told.pop()
        line.update(Content(" " * _GAP).join(told), layout=False)

    def _picture_lines(self, width: int, height: int, *, beside: bool) -> Iterator[Content]:
        form, titled, below = self._form, height >= _WITH_HEADINGS, bool(self._depth) and not beside
        room = height - titled - (1 + titled if below else 0)
        deep = max(_SHORTEST_DEPTH, room // _PART_OF_DEPTH) if below else 0
        tall = max(_SHORTEST_CHART, room - deep)
        if titled:
            yield heading("PRICE", "your range lies between the lines")
        span = form.span(self._reach)
        yield draw_lines(price_chart(form.chart(self._ticks), width, tall, span))
        if not below:
            return
        yield Content("")
        if titled:
            yield _DEPTH_HEADING
        yield self._depth_drawn(width, deep)

    def _depth_drawn(self, width: int, height: int) -> Content:
        low, high = self._preview.edges
        now = self._form.past[-1][1]
        return draw_lines(
            depth_picture(self._depth, low=low, high=high, price=now, width=width, height=height)
        )

    def _say_block(self) -> None:
        read_at = self._form.context.block
        behind = self._newest - read_at
        age = "" if behind <= 0 else f", {behind:,} {'block' if behind == 1 else 'blocks'} ago"
        page = self.query_one("#range")
        page.border_title = literal(self._form.title)
        page.border_subtitle = literal(f"read at block {read_at:,}{age}")

    def _text(self, selector: str) -> PlainText:
        return self.query_one(selector, PlainText)


def _edge_style(chosen: bool) -> str:
    return "bold reverse" if chosen else ""


def _objection_lines(preview: RangePreview, width: int) -> Iterator[Content]:
    for words in preview.objections:
        yield Content("")
        yield from (literal(line, "$warning") for line in wrap(f"▲ {words}", width))


def _remark(preview: RangePreview, *, listed: bool) -> Content:
    """What keeps it from being planned, or what the floors have against it, in a line."""
    if preview.trouble:
        return literal(f"· {preview.trouble} Move an edge.", "$quiet")
    if not preview.objections:
        return literal("✓ It keeps the floors of your profile.", "$success")
    if listed:
        return Content("")
    first, *more = preview.objections
    rest = f" · and {len(more)} more" if more else ""
    return literal(f"▲ {first}{rest}", "$warning")


def _lines_needed(preview: RangePreview) -> int:
    """By a heading, every row, and one amount that goes on in a second line."""
    return 1 + len(preview.figures) + len(preview.amounts) + 1


def _figure_lines(preview: RangePreview, width: int, height: int) -> Iterator[Content]:
    """A table of what there is; then the amounts, each a line of its own."""
    if not preview.figures:
        return
    rows = [(figure.label, figure.now, figure.own, figure.change) for figure in preview.figures]
    sizes = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    sizes[0] = max(sizes[0], *(len(amount.label) for amount in preview.amounts))
    sizes[-1] = sizes[-1] and max(sizes[-1], _CHANGE)
    if sum(sizes) + _GAP * (len(_COLUMNS) - 1) > width:
        sizes[-1] = 0  # what changes can be seen beside each other; a row in two lines cannot
    room = (width - sum(sizes)) // (len(_COLUMNS) - 1)
    gap = " " * max(_GAP, min(_WIDEST_GAP, room))
    titles = [title if size else "" for title, size in zip(_COLUMNS, sizes, strict=True)]
    yield _cells(titles, sizes, gap, ["bold $primary"] * len(_COLUMNS))
    for row, shown_figure in zip(rows, preview.figures, strict=True):
        own = f"bold {_TONES[shown_figure.own_tone]}".strip()
        yield _cells(row, sizes, gap, ["$quiet", "", own, _TONES[shown_figure.tone]])
    for shown_amount in preview.amounts:
        told = f"{shown_amount.label:<{sizes[0]}}{' ' * _GAP}"
        before = f"now {shown_amount.now}" if shown_amount.own and shown_amount.now else ""
        line = Content.assemble(
            literal(told, "$quiet"),
            literal(shown_amount.own, "bold")
            if shown_amount.own
            else literal(shown_amount.now or "–"),
        )
        if line.cell_length + _GAP + len(before) <= width:
            yield Content.assemble(line, literal(f"{' ' * _GAP}{before}".rstrip(), "$quiet"))
            continue
        yield line
        if height >= _lines_needed(preview):
            yield literal(f"{' ' * len(told)}{before}", "$quiet")


def _cells(words: Sequence[str], sizes: Sequence[int], gap: str, styles: Sequence[str]) -> Content:
    """The first to the left, the figures to the right; a column without words takes no room."""
    told = [
        literal(f"{word:<{size}}" if place == 0 else f"{gap}{word:>{size}}", style)
        for place, (word, size, style) in enumerate(zip(words, sizes, styles, strict=True))
        if size
    ]
    return Content("").join(told)
