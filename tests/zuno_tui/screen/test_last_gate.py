"""The last gate: whatever a widget draws, no control byte passes, and ASCII can be had alone."""

from msgspec.structs import replace
from rich.segment import Segment
from textual.color import Color
from textual.widgets import Static

from tests.zuno_tui.screen.scenes import MORNING, POSITIONS, desk_app, play
from zuno_tui.desk.events import PositionsChanged
from zuno_tui.screen.app.app import AsciiOnly, ControlGuard

BLACK = Color(0, 0, 0)
HOSTILE = "a\x1b]52;c;eA==\x07b\x9b2Jc\u202ed\u200be\x7ff\x00"


def test_what_steers_a_terminal_is_dropped_and_the_rest_is_left_alone() -> None:
    segments = [Segment(HOSTILE), Segment("● über 東京 …"), Segment("plain")]

    drawn = [segment.text for segment in ControlGuard().apply(segments, BLACK)]

    assert drawn == ["a]52;c;eA==b2Jcdef", "● über 東京 …", "plain"]


def test_ascii_keeps_every_width() -> None:
    text = "├──●─┤ █░ ▲ ✗ ★ · − × … › ○ 2 → 1 “東京” é"

    (segment,) = AsciiOnly().apply([Segment(text)], BLACK)

    assert segment.text == '[--o-] #. ^ x * - - x ~ > . 2-> 1 "????" ?'
    assert segment.cell_length == Segment(text).cell_length


async def test_a_widget_that_cleans_nothing_is_cleaned_at_the_gate() -> None:
    async with desk_app().run_test() as pilot:
        await pilot.app.screen.mount(Static(HOSTILE, markup=False, id="raw"))
        await pilot.pause()
        raw = pilot.app.screen.query_one("#raw")
        assert "\x1b" in str(raw.render())
        (strip,) = raw.render_lines(raw.size.region)

        assert strip.text.strip() == "a]52;c;eA==b2Jcdef"


async def test_the_whole_desk_in_ascii() -> None:
    async with desk_app(ascii_only=True).run_test(size=(120, 36)) as pilot:
        rows = (replace(POSITIONS.rows[0], pair="東京/ü"), *POSITIONS.rows[1:])
        await play(pilot, *MORNING, PositionsChanged(replace(POSITIONS, rows=rows)))
        svg = pilot.app.export_screenshot()

        assert [letter for letter in svg if ord(letter) > 0x7E and letter != "\xa0"] == []
