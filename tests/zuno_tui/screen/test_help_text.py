"""Help wraps what it says within its columns, and parts it in two where there is room."""

from __future__ import annotations

import pytest

from zuno_tui.screen.screens.asking import ActiveKey
from zuno_tui.screen.screens.help import in_columns, pane_sections

KEYS = (
    ActiveKey("g", "", "To the first line", "move.first"),
    ActiveKey("enter", "open", "Everything about this position", "positions.inspect"),
)


@pytest.mark.parametrize("width", [40, 60, 88])
def test_no_line_leaves_its_column(width: int) -> None:
    about, keys, words, *phrases = pane_sections("positions", KEYS, width)

    assert max(line.cell_length for line in (*about, *keys, *words)) <= width
    assert [line.plain.split()[0] for line in keys[1:]][:1] == ["enter"], "the pane's own first"
    assert ("positions.inspect" in keys[1].plain) is (width >= 80)
    for section in (keys, words, *phrases):
        begins = [line.plain for line in section[1:] if not line.plain.startswith(" ")]
        assert len(begins) <= len(section) - 1
        assert all(line[0] != " " for line in begins)
    [pair] = [place for place, line in enumerate(words) if line.plain.startswith("PAIR")]
    [after] = [place for place, line in enumerate(words) if line.plain.startswith("VER")]
    column = words[pair].plain.index("its two tokens")
    between = [line.plain for line in words[pair + 1 : after]]
    assert (len(between) > 0) is (width < 88)
    assert all(line[:column].isspace() and line[column] != " " for line in between)
    assert keys[1].plain.index("Everything") == column


def test_two_columns_are_about_as_high() -> None:
    sections = [*pane_sections("positions", KEYS, 88)]
    left, right = in_columns(sections)

    assert [*left, *right] == sections
    heights = [sum(len(section) + 1 for section in column) for column in (left, right)]
    longest = max(len(section) + 1 for section in sections)
    assert abs(heights[0] - heights[1]) <= longest
