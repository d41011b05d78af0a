"""A range of one's own as a form: its edges moved by keys, and all that follows told at once."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.containers import Container, Vertical
from textual.content import Content

from zuno_tui.desk.events import RangeReady, StatusChanged
from zuno_tui.screen.keys import CHOOSING
from zuno_tui.screen.long_lived import spare_the_long_lived
from zuno_tui.screen.panes.drawn import drawn
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.lines import KeyLine
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.settings import SettingsError
from zuno_tui.shown.drawing.chart import price_chart
from zuno_tui.shown.drawing.depth import depth_picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.commands.create import CreatePosition
    from zuno_tui.commands.move import MovePosition
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.shown.range_form import RangeForm
    from zuno_tui.shown.views import RangePreview

EdgeName = Literal["low", "high", "both"]
_EDGES: tuple[EdgeName, ...] = ("low", "high", "both")
_GAP = 2
_SHORTEST_CHART, _SHORTEST_DEPTH = 4, 4
_WITH_HEADINGS = 16
"""Lines of a picture from which there is room for headings."""
_NARROWEST = 30
_LONG = 18
_ROOM = 1.3
"""How much farther a picture shows once an edge has left it: the next steps find it standing."""


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
        spare_the_long_lived()

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
        self._choose(self._form.moved(self._ticks, -by, by))

    def action_centre(self) -> None:
        self._choose(self._form.centred(self._ticks.width))

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
        self._choose(self._form.moved(self._ticks, low, high))

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
        from zuno_tui.commands.range import planning

        try:
            return planning(self._form, self._ticks)
        except SettingsError as error:
            self._text("#range-words").update(literal(f"▲ {error}", "$warning"), layout=False)
            return None

    def _draw(self) -> None:
        """Every text has its place and keeps it: nothing is laid out again for a key."""
        self._draw_edges()
        pictures, figures = self._text("#range-pictures"), self._text("#range-figures")
        width, height = pictures.content_size
        if width and height:
            pictures.update(self._pictures(max(_NARROWEST, width), height), layout=False)
        wide, high = figures.content_size
        lines = list(_figure_lines(self._preview, wide))
        against = list(_objection_lines(self._preview, wide)) if wide else []
        listed = len(lines) + len(against) <= high
        figures.update(Content("\n").join([*lines, *(against if listed else ())]), layout=False)
        self._text("#range-words").update(_remark(self._preview, listed=listed), layout=False)

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

    def _pictures(self, width: int, height: int) -> Content:
        form = self._form
        if (needed := form.reach(self._ticks)) > self._reach:
            self._reach = round(needed * _ROOM) if self._reach else needed
            self._depth = form.liquidity(self._reach)
        return Content("\n").join(self._picture_lines(width, height))

    def _picture_lines(self, width: int, height: int) -> Iterator[Content]:
        form, titled = self._form, height >= _WITH_HEADINGS
        room = height - (3 if titled else 0)
        deep = max(_SHORTEST_DEPTH, room * 2 // 5) if self._depth else 0
        tall = max(_SHORTEST_CHART, room - deep)
        if titled:
            yield heading("PRICE", "your range lies between the lines")
        span = form.span(self._reach)
        yield drawn(price_chart(form.chart(self._ticks), width, tall, span))
        if not self._depth:
            return
        if titled:
            yield Content("")
            yield heading("LIQUIDITY", "of all others; below it your range")
        low, high = self._preview.edges
        now = form.past[-1][1]
        yield drawn(
            depth_picture(self._depth, low=low, high=high, price=now, width=width, height=deep)
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


def _figure_lines(preview: RangePreview, width: int) -> Iterator[Content]:
    rows = preview.rows
    labels, nows, owns = (max((len(row[at]) for row in rows), default=0) for at in range(3))
    if labels + nows + owns + 2 * _GAP > width:
        # Amounts of tokens with long names: what would be comes before what is.
        rows = tuple((label, now if len(now) < _LONG else "", own) for label, now, own in rows)
        nows = max(len(now) for _, now, _ in rows)
    gap = " " * _GAP
    header = [("", "NOW" if nows else "", "YOURS")] if rows else []
    for place, (label, now, own) in enumerate([*header, *rows]):
        style = "$quiet" if place else "bold $primary"
        yield Content.assemble(
            literal(f"{label:<{labels}}{gap}", style),
            literal(f"{now:>{nows}}{gap}" if nows else "", "" if place else style),
            literal(f"{own:>{owns}}", "bold" if place else style),
        )
