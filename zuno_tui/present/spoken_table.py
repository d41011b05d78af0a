"""A table that an agent shows: in columns where there is room, else a line for each row."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from zuno_tui.present.output import OutputColumn, cell_width, table

if TYPE_CHECKING:
    from agents.bus.envelope import SpokenCell, SpokenTable

PASSED, FAILED = "✓", "✗"


def table_lines(spoken: SpokenTable, width: int | None) -> list[str]:
    """The table in at most this many cells where it can be; None is as wide as it likes.

    Too wide, it is turned over; too wide even then, each row becomes a line that can be broken.
    """
    rows = [[row.name, *(_marked(cell) for cell in row.cells)] for row in spoken.rows]
    upright = [["", *spoken.columns], *rows]
    turned = [list(column) for column in zip(*upright, strict=True)]
    for (titles, *cells), gap in product((upright, turned), (2, 1)):
        columns = [OutputColumn(titles[0]), *(OutputColumn(each, "right") for each in titles[1:])]
        lines = table(columns, cells, gap=gap)
        if width is None or max(map(cell_width, lines), default=0) <= width:
            return lines
    return [_in_a_line(spoken, place) for place in range(len(spoken.rows))]


def _in_a_line(spoken: SpokenTable, place: int) -> str:
    row = spoken.rows[place]
    told = (
        f"{name} {_marked(cell)}"
        for name, cell in zip(spoken.columns, row.cells, strict=False)
        if cell.text != "–"
    )
    return f"{row.name}: {' · '.join(told)}"


def _marked(cell: SpokenCell) -> str:
    if cell.passed is None:
        return cell.text
    return f"{PASSED if cell.passed else FAILED} {cell.text}"
