"""Every scroll bar is one cell wide and apart from the words before it."""

from __future__ import annotations

import pytest
from rich.console import Console

from tests.zuno_tui.screen.scenes import desk_app
from zuno_tui.screen.app.app import SpacedScrollBar
from zuno_tui.screen.panes.row_table import RowTable


@pytest.mark.parametrize("width", [1, 2, 3])
def test_only_the_last_cell_is_drawn(width: int) -> None:
    bar = SpacedScrollBar(virtual_size=40, window_size=10, style="red on blue")
    console = Console(width=width, height=8)
    lines = console.render_lines(bar, console.options.update(height=8), pad=False)

    assert [sum(cell.cell_length for cell in line) for line in lines] == [width] * 8
    for line in lines:
        *space, last = line
        assert [cell.text for cell in space] == ([" " * (width - 1)] if width > 1 else [])
        assert all(cell.style and not cell.style.reverse for cell in space)
        assert last.cell_length == 1
    assert SpacedScrollBar.THUMB in {line[-1].text for line in lines}
    assert all(not (line[-1].style and line[-1].style.reverse) for line in lines)


async def test_every_bar_is_drawn_so() -> None:
    async with desk_app().run_test() as pilot:
        table = pilot.app.screen.query(RowTable).first()
        assert table.vertical_scrollbar.renderer is SpacedScrollBar
