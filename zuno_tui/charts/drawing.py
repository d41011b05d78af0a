"""What pictures are drawn with, and how a terminal shows one in its cells."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chain.base.errors import ZunoError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ChartError(ZunoError):
    """A picture that cannot be drawn or written; says what to do."""


def require_chart_packages() -> None:
    if find_spec("matplotlib") is None:
        raise ChartError(
            "A picture as a file needs a package that is not installed: the extra `charts`.\n"
            "In a checkout run: make setup. As an application: pipx install --force '.[charts]', "
            "or uv tool install --force '.[charts]', in the folder of the source."
        )


def write_png(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ChartError(f"{path} cannot be written: {error.strerror or error}.") from error


Rgb = tuple[int, int, int]
_COLOURS = 64
_SHADES = "█▓▒░ "
"""From dark to light: a chart's ground is light, and stays empty."""


class Raster(NamedTuple):
    """Rows of places in a palette."""

    pixels: list[list[int]]
    palette: list[Rgb]


def raster(png: bytes, width: int, height: int) -> Raster:
    from PIL import Image

    with Image.open(BytesIO(png)) as picture:
        small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    few = small.quantize(_COLOURS)
    flat = few.tobytes()
    colours = few.getpalette() or []
    return Raster(
        [list(flat[start : start + width]) for start in range(0, len(flat), width)],
        [(colours[at], colours[at + 1], colours[at + 2]) for at in range(0, len(colours) - 2, 3)],
    )


def half_blocks(png: bytes, columns: int, rows: int) -> list[list[tuple[Rgb, Rgb]]]:
    """For each cell the colour of its upper and of its lower half."""
    drawn = raster(png, columns, rows * 2)
    dots = [[drawn.palette[place] for place in line] for line in drawn.pixels]
    return [list(zip(dots[row], dots[row + 1], strict=True)) for row in range(0, rows * 2, 2)]


def shades(png: bytes, columns: int, rows: int) -> list[str]:
    """The same without colour: the darker, the fuller a cell."""
    drawn = raster(png, columns, rows)
    light = [sum(colour) / (3 * 256) for colour in drawn.palette]
    return [
        "".join(_SHADES[int(light[dot] * len(_SHADES))] for dot in line) for line in drawn.pixels
    ]
