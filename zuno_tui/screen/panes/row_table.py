"""A table of fixed columns that keeps its cursor on a row's key while the rows change under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, overload

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from chain.base.clean_text import DROP
from zuno_tui.screen.keys import MOVING

if TYPE_CHECKING:
    from rich.style import Style
    from textual.events import Click


_GROWS_FROM = 16
"""What a growing column has at least before others are given up."""
_WIDEST_GAP = 2


class TableColumn(Struct, frozen=True):
    title: str
    rank: int
    """The order in which columns are given up when the width is short, the highest first."""
    most: int
    """The widest it gets, however long its words; one without any words takes no room."""
    least: int = 0
    """The narrowest it gets: where words come and go, a steady width leaves the others alone."""
    right: bool = False
    grows: bool = False
    """Gives up its own room before others go, and takes back what they leave."""
    last: bool = False
    """Shown only where none of the others is cut for it."""
    spacious: bool = False
    """Shown only where all of them stand well apart even so."""
    goes_below: bool = False
    """Stands on a line of its own under the row where it would be cut and there is room."""


class ColumnPlace(NamedTuple):
    """A column that is shown: which one it is, how wide, and where its words stand."""

    column: int
    width: int
    right: bool


class TableLayout(NamedTuple):
    places: tuple[ColumnPlace, ...]
    gap: int


def laid_out(columns: Sequence[TableColumn], widths: Sequence[int], room: int) -> TableLayout:
    """The columns that fit, the first ranks first, with what room is left shared out."""
    wanted = [
        min(width, _GROWS_FROM) if column.grows else width
        for column, width in zip(columns, widths, strict=True)
    ]
    kept: list[int] = []
    spare = room
    for place in sorted(range(len(columns)), key=lambda place: columns[place].rank):
        if not wanted[place]:
            continue
        cut = sum(widths[each] - wanted[each] for each in kept) if columns[place].last else 0
        cut += len(kept) if columns[place].spacious else 0
        if kept and wanted[place] + 1 > spare - cut:
            break
        spare -= wanted[place] + bool(kept)
        kept.append(place)
    shares = dict.fromkeys(kept, 0)
    for place in kept:
        if columns[place].grows:
            shares[place] = max(0, min(spare, widths[place] - wanted[place]))
            spare -= shares[place]
    wider = min(_WIDEST_GAP, max(0, spare) // len(kept)) if kept else 0
    if wider < _WIDEST_GAP:
        # What does not reach for every gap parts the figures, which run together first: those
        # with signs, on the right, before the others.
        figures = [place for place in sorted(kept, reverse=True) if columns[place].right]
        for place in figures[: max(0, spare) - wider * len(kept)]:
            shares[place] += 1
    return TableLayout(
        tuple(
            ColumnPlace(place, wanted[place] + shares[place], columns[place].right)
            for place in sorted(kept)
        ),
        gap=1 + wider,
    )


def fit_text(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly so many cells; an ellipsis marks what was cut."""
    text = text.translate(DROP)
    size = text_size(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if right else text + " " * (width - size)


def text_size(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


_MARK = 2
"""The cells of the cursor's mark."""
_BEFORE_BAR = 1
"""A cell between words and a scroll bar, or the frame."""
_MANY = 100
_FEW_LINES = 6
"""In so few a row has one."""


class Cell(NamedTuple):
    text: str
    tone: str = "plain"


class Row(NamedTuple):
    key: str
    cells: tuple[Cell, ...]
    stale: bool = False


class Rows(Sequence[Row]):
    """Of known keys, each built when somebody looks at it."""

    def __init__(self, keys: Sequence[str], build: Callable[[int], Row]) -> None:
        self.keys = keys
        self._build = build

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self._build(each) for each in range(*place.indices(len(self)))]
        return self._build(place)


class RowTable(ScrollView, can_focus=True):
    """Draws the rows in sight, and of those only the ones that changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVING]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "rows--header",
        "rows--cursor",
        "rows--plain",
        "rows--strong",
        "rows--good",
        "rows--warn",
        "rows--bad",
        "rows--dim",
        "rows--stale",
    }

    class Pointed(Message):
        """The cursor stands on another row."""

        def __init__(self, table: RowTable, key: str | None) -> None:
            self.table = table
            self.key = key
            super().__init__()

        @property
        def control(self) -> RowTable:
            return self.table

    class Chosen(Message):
        """Enter was pressed on a row."""

        def __init__(self, table: RowTable, key: str) -> None:
            self.table = table
            self.key = key
            super().__init__()

        @property
        def control(self) -> RowTable:
            return self.table

    class HeadClicked(Message):
        """A click on a column's head, which may sort by it."""

        def __init__(self, table: RowTable, column: int) -> None:
            self.table = table
            self.column = column
            super().__init__()

    sorted_by: int | None = None
    """The column whose head has a mark."""

    def __init__(
        self,
        columns: Sequence[TableColumn],
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._rows: Rows = Rows((), self._no_row)
        self._cursor = 0
        self._widths = [0] * len(self._columns)
        self._layouts: dict[int, TableLayout] = {}
        self._cut: int | None = None
        """The column that would be cut beside the others."""
        self._below: int | None = None
        """The one that stands under them now."""
        self._empty: tuple[str, ...] = ()
        self._shown: dict[int, Row] = {}
        """As they were filled last, by their places."""

    @staticmethod
    def _no_row(place: int) -> Row:
        raise IndexError(place)

    @property
    def rows(self) -> Rows:
        return self._rows

    @property
    def key(self) -> str | None:
        """The key of the row the cursor is on."""
        return self._rows.keys[self._cursor] if self._rows else None

    @property
    def rows_below(self) -> int:
        """How many rows stand under the last that is seen whole."""
        top = self.scroll_offset.y // self._height
        return max(0, len(self._rows) - top - self._page)

    @property
    def lines_wanted(self) -> int:
        """To show everything of every row."""
        return 1 + len(self._rows) * (1 if self._cut is None else 2)

    def fill(self, rows: Sequence[Row], *, empty: Sequence[str] = (), stays: bool = True) -> None:
        """Show these rows; the cursor stays with its key if it `stays`, else with its place."""
        before, key, shown = self._rows, self.key, self._shown
        if not isinstance(rows, Rows):
            known_rows = tuple(rows)
            rows = Rows([row.key for row in known_rows], known_rows.__getitem__)
        self._rows, self._empty = rows, tuple(empty)
        keep = key in rows.keys
        same = bool(before) and before.keys == rows.keys
        # Of many rows those in sight are measured, and others when they come into it.
        wanted = self._in_sight if len(rows) > _MANY else range(len(rows))
        self._shown = {place: rows[place] for place in wanted}
        widths = self._widen(self._shown.values(), keep=keep)
        if same and widths == self._widths:
            for place in self._in_sight:
                was, now = shown.get(place), self._shown[place]
                if was is None:
                    self._refresh_row(place)
                elif was is not now and was != now:
                    self._refresh_changed(place, was)
            return
        places = {key: place for place, key in enumerate(rows.keys)}
        near = min(self._cursor, max(0, len(self._rows) - 1))
        self._cursor = places.get(key or "", near) if stays else near
        self._widths = widths
        self._measure()
        self.refresh()
        if self.key != key:
            self.post_message(self.Pointed(self, self.key))

    def forget_widths(self) -> None:
        """Let the columns be as wide as the next rows are, also where that is narrower."""
        self._widths = [0] * len(self._columns)

    def point_at(self, key: str) -> None:
        if key in self._rows.keys:
            self._move_to(self._rows.keys.index(key))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if len(self._rows) > _MANY:
            self._shown |= {place: self._rows[place] for place in self._in_sight}
            widths = self._widen((self._shown[place] for place in self._in_sight), keep=True)
            if widths != self._widths:
                self._widths = widths
                self._measure()
                self.refresh()

    def on_resize(self) -> None:
        self._measure()
        self._keep_cursor_in_sight()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if not self._rows:
            return self._empty_line(y, width)
        if y == 0:
            titles = [Cell(self._title(place), "header") for place in range(len(self._columns))]
            return self._line(titles, self.rich_style, width, mark=" ")
        place, line = divmod(y - 1 + self.scroll_offset.y, self._height)
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[place]
        style, mark = self.rich_style, " "
        if place == self._cursor:
            mark = "▌" if self.has_focus else " " if line else "›"
            style += self._style("cursor")
        cells = [Cell(cell.text, "stale") for cell in row.cells] if row.stale else row.cells
        if line and self._below is not None:
            cell, room = cells[self._below], width - _MARK - _BEFORE_BAR
            indent = self._indent_below(width)
            below = Segment(fit_text(cell.text, room - indent), style + self._style(cell.tone))
            before = Segment(f"{mark} {' ' * indent}", style)
            return Strip([before, below]).adjust_cell_length(width, style)
        return self._line(cells, style, width, mark=mark)

    def on_click(self, event: Click) -> None:
        """A click points at a row, and one on the row that is pointed at chooses it."""
        offset = event.get_content_offset(self)
        if offset is None or not self._rows:
            return
        if offset.y == 0:
            if (column := self._column_at(offset.x)) is not None:
                self.post_message(self.HeadClicked(self, column))
            return
        place = (offset.y - 1 + self.scroll_offset.y) // self._height
        if place >= len(self._rows):
            return
        if place == self._cursor and event.chain > 1:
            self.action_choose()
        else:
            self._move_to(place)

    def action_down(self) -> None:
        self._move_to(self._cursor + 1)

    def action_up(self) -> None:
        self._move_to(self._cursor - 1)

    def action_page_down(self) -> None:
        self._move_to(self._cursor + self._page)

    def action_page_up(self) -> None:
        self._move_to(self._cursor - self._page)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self._rows) - 1)

    def action_choose(self) -> None:
        if self.key is not None:
            self.post_message(self.Chosen(self, self.key))

    def on_focus(self) -> None:
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._cursor)

    def _title(self, column: int) -> str:
        return f"{self._columns[column].title}{'▼' if column == self.sorted_by else ''}"

    def _column_at(self, x: int) -> int | None:
        shown, gap = self._layout(self.scrollable_content_region.width)
        end = _MARK
        for each in shown:
            end += each.width + gap
            if x < end:
                return each.column
        return None

    @property
    def _in_sight(self) -> range:
        top = self.scroll_offset.y // self._height
        return range(top, min(len(self._rows), top + self._page + 1))

    @property
    def _height(self) -> int:
        """Of a row, in lines."""
        return 1 if self._below is None else 2

    @property
    def _page(self) -> int:
        return max(1, (self.scrollable_content_region.height - 1) // self._height)

    def _move_to(self, place: int) -> None:
        place = max(0, min(place, len(self._rows) - 1))
        if place == self._cursor or not self._rows:
            return
        self._refresh_row(self._cursor)
        self._cursor = place
        self._refresh_row(place)
        self._keep_cursor_in_sight()
        self.post_message(self.Pointed(self, self.key))

    def _keep_cursor_in_sight(self) -> None:
        top, each = self.scroll_offset.y, self._height
        if self._cursor * each < top:
            self.scroll_to(y=self._cursor * each, animate=False)
        elif self._cursor * each >= top + self._page * each:
            self.scroll_to(y=(self._cursor - self._page + 1) * each, animate=False)

    def _refresh_row(self, place: int) -> None:
        for line in range(self._height):
            self.refresh_line(place * self._height + 1 + line)

    def _refresh_changed(self, place: int, before: Row) -> None:
        """The cells that changed: an age that moves on is no reason to send a line again."""
        row = self._rows[place]
        width, below = self.scrollable_content_region.width, self._below
        if row.stale != before.stale:
            self._refresh_row(place)
            return
        shown, gap = self._layout(width)
        x, y = _MARK, place * self._height + 1 - self.scroll_offset.y
        if below is not None and row.cells[below] != before.cells[below]:
            self.refresh(Region(0, y + 1, width, 1))
        for each in shown:
            if row.cells[each.column] != before.cells[each.column]:
                self.refresh(Region(x, y, each.width, 1))
            x += each.width + gap

    def _widen(self, rows: Iterable[Row], *, keep: bool) -> list[int]:
        """The columns' widths by their words; while the rows go on they grow and never shrink."""
        widths, rows = [], list(rows)
        for place, column in enumerate(self._columns):
            texts = [row.cells[place].text for row in rows]
            size = len if "".join(texts).isascii() else cell_len
            longest = max(map(size, texts), default=0)
            fit = min(column.most, max(longest, len(self._title(place)), column.least))
            width = fit if longest else 0
            widths.append(max(width, self._widths[place]) if keep else width)
        return widths

    def _measure(self) -> None:
        self._layouts.clear()
        width, height = self.scrollable_content_region.size
        self._cut = self._cut_column(width)
        self._below = self._cut if height > _FEW_LINES else None
        self.virtual_size = Size(width, self._height * len(self._rows) + 1)

    def _cut_column(self, width: int) -> int | None:
        """The one that may go below, where it has less room than its words."""
        places, _ = laid_out(self._columns, self._widths, width - _MARK - _BEFORE_BAR)
        shown = {place.column: place.width for place in places}
        for number, column in enumerate(self._columns):
            if column.goes_below and shown.get(number, 0) < self._widths[number]:
                return number
        return None

    def _layout(self, width: int) -> TableLayout:
        """By the width of the line: a scroll bar takes a cell without a word."""
        if width not in self._layouts:
            widths = [
                0 if column == self._below else each for column, each in enumerate(self._widths)
            ]
            self._layouts[width] = laid_out(self._columns, widths, width - _MARK - _BEFORE_BAR)
        return self._layouts[width]

    def _indent_below(self, width: int) -> int:
        """Under the second column, or as near to it as all of those words have room."""
        shown, gap = self._layout(width)
        indent = shown[0].width + gap if shown else 0
        longest = 0 if self._below is None else self._widths[self._below]
        return max(0, min(indent, width - _MARK - _BEFORE_BAR - longest))

    def _line(self, cells: Sequence[Cell], style: Style, width: int, *, mark: str) -> Strip:
        segments = [Segment(f"{mark} ", style)]
        places, gap = self._layout(width)
        for place in places:
            cell = cells[place.column]
            text = fit_text(cell.text, place.width, right=place.right)
            segments.append(Segment(text + " " * gap, style + self._style(cell.tone)))
        return Strip(segments).adjust_cell_length(width, style)

    def _empty_line(self, y: int, width: int) -> Strip:
        top = max(0, (self.scrollable_content_region.height - len(self._empty)) // 2)
        if not top <= y < top + len(self._empty):
            return Strip.blank(width, self.rich_style)
        text = self._empty[y - top].translate(DROP)
        line = set_cell_size(" " * max(0, (width - cell_len(text)) // 2) + text, width)
        return Strip([Segment(line, self.rich_style + self._style("dim"))], width)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"rows--{name}", partial=True)
