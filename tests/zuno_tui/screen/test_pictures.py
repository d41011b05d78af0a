"""Pictures drawn cell by cell, and recordings, from rows nobody needs a terminal for."""

import json

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tools.screen_pictures import ScreenRecording

ROWS = [
    Strip([Segment("╭─ ", Style(color="#00ff00", bgcolor="#102030")), Segment("漢█", None)]),
    Strip([Segment("⣿ ok   ", Style(bgcolor="#102030", bold=True))]),
]


def test_a_picture_has_a_cell_for_every_column() -> None:
    pytest.importorskip("PIL", reason="pictures are drawn with the extra charts")
    from tools.screen_drawing import drawn

    narrow = drawn(ROWS)
    wide = drawn([Strip([Segment("x" * 12, None)]), ROWS[1]])

    assert narrow.height == wide.height
    assert (wide.width - narrow.width) % 5 == 0
    assert narrow.convert("RGB").getpixel((0, 0)) == (16, 32, 48)


def test_a_terminals_own_colours_can_be_told_apart() -> None:
    pytest.importorskip("PIL", reason="pictures are drawn with the extra charts")
    from tools.screen_drawing import drawn

    picture = drawn([Strip([Segment("██", Style(color="default", bgcolor="default"))])])

    assert len(picture.convert("RGB").getcolors() or ()) > 1


def test_a_recording_keeps_what_changed_and_shortens_rests() -> None:
    seconds = iter((0.0, 0.2, 60.0))
    recording = ScreenRecording((7, 2), clock=lambda: next(seconds))
    for rows in (ROWS, ROWS, ROWS[::-1]):
        recording.see(rows)

    header, *events = map(json.loads, recording.lines())

    assert (header["version"], header["width"], header["height"]) == (2, 7, 2)
    assert [(moment, kind) for moment, kind, _ in events] == [(0.0, "o"), (2.0, "o")]
    assert "漢█" in events[0][2]
