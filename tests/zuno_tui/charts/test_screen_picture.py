"""Screens as pictures: every character of them is drawn, those that the font lacks by hand."""

from pathlib import Path

import pytest
from rich.segment import Segment
from textual.strip import Strip

pytest.importorskip("matplotlib", reason="pictures need the extra charts")

LOOKS = Path(__file__).parents[1] / "screen" / "looks"
BRAILLE = range(0x2800, 0x2900)


def inked(text: str) -> set[tuple[int, int]]:
    """Where a picture of these words differs from one of as many blanks."""
    from tools.screen_drawing import drawn

    pictures = [drawn([Strip([Segment(one)])]).convert("RGB") for one in (text, " " * len(text))]
    there, blank = (picture.load() for picture in pictures)
    assert there is not None
    assert blank is not None
    width, height = pictures[0].size
    places = ((x, y) for x in range(width) for y in range(height))
    return {place for place in places if there[place] != blank[place]}


def test_each_dot_of_braille_stands_in_its_own_place() -> None:
    dots = [inked(chr(0x2800 + (1 << bit))) for bit in range(8)]

    assert all(dots)
    assert len(set.union(*dots)) == sum(len(dot) for dot in dots)
    assert inked("\u28ff") == set.union(*dots)


def test_no_screen_holds_a_character_that_would_be_drawn_as_missing() -> None:
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    from tools.screen_drawing import _ELSEWHERE

    fonts = f"{get_data_path()}/fonts/ttf"
    narrow, running = (FT2Font(f"{fonts}/DejaVuSans{end}.ttf") for end in ("Mono", ""))
    shown = {letter for look in LOOKS.glob("*.txt") for letter in look.read_text("utf-8")}
    missing = {one for one in shown - {"\n"} if not narrow.get_char_index(ord(one))}

    assert {one for one in missing if ord(one) not in BRAILLE} <= set(_ELSEWHERE)
    assert all(running.get_char_index(ord(one)) for one in _ELSEWHERE)
