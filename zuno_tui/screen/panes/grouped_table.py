"""A table whose rows stand in groups under headings, which the cursor passes by."""

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

from zuno_tui.screen.panes.row_table import Cell, Row, RowTable

_HEADING = "heading"


def heading_rows(title: str, columns: int, *, apart: bool) -> list[Row]:
    """The line over the rows of a group, and before it a blank one where it stands apart."""
    blanks = (Cell(""),) * (columns - 1)
    heading = Row(f"{_HEADING} {title}", (Cell(title, _HEADING), *blanks))
    space = Row(f"before {title}", (Cell("", _HEADING), *blanks))
    return [space, heading] if apart else [heading]


def _is_heading(row: Row) -> bool:
    return row.cells[0].tone == _HEADING


class GroupedTable(RowTable):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--heading"}

    def fill(self, rows: Sequence[Row], *, empty: Sequence[str] = (), stays: bool = True) -> None:
        super().fill(rows, empty=empty, stays=stays)
        if rows and _is_heading(self._rows[self._cursor]):
            self._move_to(self._cursor + 1)

    def _move_to(self, place: int) -> None:
        """To the row meant, or where no row is to the next one onward, or else back."""
        last = len(self._rows) - 1
        place = max(0, min(place, last))
        back, on = range(place, -1, -1), range(place, last + 1)
        tried = chain(on, back) if place > self._cursor else chain(back, on)
        super()._move_to(next((each for each in tried if not _is_heading(self._rows[each])), place))

    def _keep_cursor_in_sight(self) -> None:
        super()._keep_cursor_in_sight()
        above = self._cursor - 1
        if 0 <= above < self.scroll_offset.y and _is_heading(self._rows[above]):
            self.scroll_to(y=above, animate=False)
