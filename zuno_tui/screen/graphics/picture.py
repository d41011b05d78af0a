"""Pictures inside a terminal: whether it can show them, and how."""

from base64 import standard_b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

PictureWay = Literal["kitty", "sixel", "blocks"]
PictureChoice = Literal["auto", "kitty", "sixel", "blocks"]
_KITTY = ("xterm-kitty", "xterm-ghostty")
_SIXEL = ("foot", "mlterm", "yaft", "contour")


def picture_way(choice: PictureChoice, environment: Mapping[str, str]) -> PictureWay:
    """What was chosen; else what the terminal is known for. One that does not say gets blocks."""
    if choice != "auto":
        return choice
    terminal = environment.get("TERM", "")
    if environment.get("TMUX") or terminal.startswith(("screen", "tmux")):
        return "blocks"  # passed on only where it was configured to be
    if "KITTY_WINDOW_ID" in environment or terminal.startswith(_KITTY):
        return "kitty"
    if terminal.startswith(_SIXEL) or environment.get("TERM_PROGRAM") == "WezTerm":
        return "sixel"
    return "blocks"


_PIECE = 4096
_IMAGE = 7_341
_QUIET = "q=2"
"""The terminal answers nothing, which the desk would read as typed."""

FORGET = f"\x1b_Ga=d,d=I,i={_IMAGE},{_QUIET}\x1b\\"
"""Takes the picture away."""


def kitty_picture(png: bytes, columns: int, rows: int) -> str:
    text = standard_b64encode(png).decode("ascii")
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    first = f"a=T,f=100,i={_IMAGE},c={columns},r={rows},C=1,{_QUIET},"
    last = len(pieces) - 1
    return "".join(
        f"\x1b_G{'' if place else first}m={int(place < last)};{piece}\x1b\\"
        for place, piece in enumerate(pieces)
    )


_BAND = 6
_FIRST = 0x3F
_SHORTEST_RUN = 4


def sixel_picture(pixels: Sequence[Sequence[int]], palette: Sequence[tuple[int, int, int]]) -> str:
    """`pixels` are rows of places in the palette."""
    height, width = len(pixels), len(pixels[0]) if pixels else 0
    colours = "".join(
        f"#{place};2;{red * 100 // 255};{green * 100 // 255};{blue * 100 // 255}"
        for place, (red, green, blue) in enumerate(palette)
    )
    bands = "-".join(_band(pixels[top : top + _BAND]) for top in range(0, height, _BAND))
    return f'\x1bP0;1q"1;1;{width};{height}{colours}{bands}\x1b\\'


def _band(rows: Sequence[Sequence[int]]) -> str:
    used = sorted({colour for row in rows for colour in row})
    return "$".join(f"#{colour}{_runs(rows, colour)}" for colour in used)


def _runs(rows: Sequence[Sequence[int]], colour: int) -> str:
    return "".join(
        f"!{count}{letter}" if count >= _SHORTEST_RUN else letter * count
        for letter, count in _counted(rows, colour)
    )


def _counted(rows: Sequence[Sequence[int]], colour: int) -> Iterator[tuple[str, int]]:
    columns = zip(*rows, strict=True)
    letters = (
        chr(_FIRST + sum((dot == colour) << place for place, dot in enumerate(column)))
        for column in columns
    )
    for letter, run in groupby(letters):
        yield letter, sum(1 for _ in run)
