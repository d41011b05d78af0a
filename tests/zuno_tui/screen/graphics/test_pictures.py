"""Pictures in a terminal: each way carries the same dots; who says nothing gets blocks."""

import re
from base64 import standard_b64decode
from io import BytesIO

import pytest

from zuno_tui.charts.drawing import half_blocks, raster, shades
from zuno_tui.screen.graphics.picture import kitty_picture, picture_way, sixel_picture

image = pytest.importorskip("PIL.Image", reason="pictures come with the extra `charts`")


def png(width: int = 40, height: int = 24) -> bytes:
    """Black above, white below, with a red column at its left."""
    drawn = image.new("RGB", (width, height), "white")
    drawn.paste("black", (0, 0, width, height // 2))
    drawn.paste((255, 0, 0), (0, 0, width // 4, height))
    kept = BytesIO()
    drawn.save(kept, "PNG")
    return kept.getvalue()


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "foot-extra"}, "sixel"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "sixel"),
        ({"TERM": "xterm-256color"}, "blocks"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "blocks"),
        ({}, "blocks"),
    ],
)
def test_a_terminal_is_known_by_what_it_says(environment: dict[str, str], way: str) -> None:
    assert picture_way("auto", environment) == way
    assert picture_way("sixel", environment) == "sixel"


def test_kitty_gets_the_whole_file_in_pieces_and_answers_nothing() -> None:
    whole = png() + bytes(range(256)) * 40
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", kitty_picture(whole, 80, 20))
    assert standard_b64decode("".join(text for _, text in pieces)) == whole
    assert [keys.rpartition("m=")[2] for keys, _ in pieces] == ["1"] * (len(pieces) - 1) + ["0"]
    assert all(len(text) <= 4096 for _, text in pieces)
    assert {"c=80", "r=20", "q=2", "f=100"} <= set(pieces[0][0].split(","))


def test_sixel_carries_every_dot() -> None:
    drawn = raster(png(), 20, 13)
    text = sixel_picture(drawn.pixels, drawn.palette)
    assert _decoded(text, 20, 13) == drawn.pixels


_MARKS = re.compile(r"#\d+;2;\d+;\d+;\d+|#(\d+)|!(\d+)|([?-~])|(\$)|(-)")


def _decoded(text: str, width: int, height: int) -> list[list[int]]:
    """Read back by the rules of the format alone."""
    rows = [[-1] * width for _ in range(height)]
    colour, run, x, band = 0, 1, 0, 0
    for chosen, times, letter, again, down in _MARKS.findall(text.partition('"')[2][:-2]):
        if chosen:
            colour = int(chosen)
        elif times:
            run = int(times)
        elif letter:
            for dot in range(x, x + run):
                for place in range(6):
                    if (ord(letter) - 0x3F) >> place & 1:
                        rows[band + place][dot] = colour
            x, run = x + run, 1
        elif again or down:
            x, band = 0, band + (6 if down else 0)
    return rows


def test_half_blocks_have_two_dots_a_cell() -> None:
    cells = half_blocks(png(), 20, 6)
    assert (len(cells), {len(line) for line in cells}) == (6, {20})
    upper, lower = cells[0][-1], cells[-1][-1]
    assert max(upper[0]) < 40
    assert min(lower[1]) > 215
    red = cells[3][0][0]
    assert red[0] > 200
    assert max(red[1:]) < 60


def test_without_colour_the_darker_is_the_fuller() -> None:
    lines = shades(png(), 20, 6)
    assert (lines[0][-1], lines[-1][-1]) == ("█", " ")
    assert {len(line) for line in lines} == {20}
