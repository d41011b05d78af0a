"""A screen drawn cell by cell with a font that is shipped, so that it looks the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont
    from rich.color import Color
    from rich.style import Style
    from textual.strip import Strip

    Colour = tuple[int, int, int]

_POINTS = 22
_MARGIN = 16
_INK: Colour = (224, 224, 224)
_PAPER: Colour = (18, 18, 18)
_ELSEWHERE = "⟳"
"""What only the font of running text has."""
_FIRST_BRAILLE, _LAST_BRAILLE = "\u2800", "\u28ff"
_DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of each dot of a Braille character, by the bit that sets it."""


class CellLook(NamedTuple):
    ink: Colour
    paper: Colour
    bold: bool
    italic: bool
    underlined: bool


def save_picture(strips: Sequence[Strip], path: Path) -> None:
    """Needs the extra `charts`, whose font it is."""
    drawn(strips).save(path, optimize=True)


def drawn(strips: Sequence[Strip]) -> Image:
    from PIL import Image, ImageDraw

    regular = _font(bold=False, italic=False)
    across = round(regular.getlength("█"))
    ascent, descent = regular.getmetrics()
    # The lines of a frame are as tall as the font's metrics, and meet only without a gap.
    down = ascent + descent - 1
    columns = max(strip.cell_length for strip in strips)
    size = (columns * across + 2 * _MARGIN, len(strips) * down + 2 * _MARGIN)
    picture = Image.new("RGB", size, _edge(strips))
    pen = ImageDraw.Draw(picture)
    for row, strip in enumerate(strips):
        for column, text, look in _cells(strip):
            left, top = _MARGIN + column * across, _MARGIN + row * down
            right = left + cell_len(text) * across
            pen.rectangle((left, top, right - 1, top + down - 1), fill=look.paper)
            if _FIRST_BRAILLE <= text <= _LAST_BRAILLE:
                _draw_dots(pen, text, (left, top, right, top + down), look.ink)
            else:
                font = _font(bold=look.bold, italic=look.italic, narrow=text not in _ELSEWHERE)
                pen.text((left, top), text, font=font, fill=look.ink)
            if look.underlined:
                pen.line((left, top + ascent + 2, right - 1, top + ascent + 2), fill=look.ink)
    return picture.quantize(colors=256).convert("P")


def _draw_dots(pen: ImageDraw, text: str, cell: tuple[int, int, int, int], ink: Colour) -> None:
    """Braille by hand: the font has none, and a chart is made of it."""
    left, top, right, bottom = cell
    wide, tall = (right - left) / 2, (bottom - top) / 4
    radius = wide / 4
    for bit, (column, row) in enumerate(_DOTS):
        if ord(text) - ord(_FIRST_BRAILLE) >> bit & 1:
            across, down = left + (column + 0.5) * wide, top + (row + 0.5) * tall
            dot = (across - radius, down - radius, across + radius, down + radius)
            pen.ellipse(dot, fill=ink)


def _cells(strip: Strip) -> Iterable[tuple[int, str, CellLook]]:
    """Every character with the column it stands in; what has no width stands nowhere."""
    column = 0
    for text, style, control in strip:
        look = _look(style)
        for character in "" if control else text:
            width = cell_len(character)
            if width:
                yield column, character, look
            column += width


def _look(style: Style | None) -> CellLook:
    if style is None:
        return CellLook(_INK, _PAPER, bold=False, italic=False, underlined=False)
    ink, paper = _shown(style.color, _INK), _shown(style.bgcolor, _PAPER)
    if style.reverse:
        ink, paper = paper, ink
    if style.dim:
        red, green, blue = ((2 * one + other) // 3 for one, other in zip(ink, paper, strict=True))
        ink = red, green, blue
    return CellLook(
        ink,
        paper,
        bold=bool(style.bold),
        italic=bool(style.italic),
        underlined=bool(style.underline),
    )


def _shown(colour: Color | None, usual: Colour) -> Colour:
    """What a terminal chooses itself is light on dark here."""
    if colour is None or colour.is_default:
        return usual
    red, green, blue = colour.get_truecolor()
    return red, green, blue


def _edge(strips: Sequence[Strip]) -> Colour:
    """The ground of the first cell goes around the picture."""
    first = next(iter(_cells(strips[0])), None)
    return _PAPER if first is None else first[2].paper


@cache
def _font(*, bold: bool, italic: bool, narrow: bool = True) -> FreeTypeFont:
    from matplotlib import get_data_path
    from PIL import ImageFont

    name = {
        (False, False): "",
        (True, False): "-Bold",
        (False, True): "-Oblique",
        (True, True): "-BoldOblique",
    }[bold, italic]
    family = "DejaVuSansMono" if narrow else "DejaVuSans"
    return ImageFont.truetype(f"{get_data_path()}/fonts/ttf/{family}{name}.ttf", _POINTS)
