"""Sixel: a picture as bands of six rows of dots, a colour at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

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
