"""What an emulated terminal shows, as a picture with its colours."""

from pathlib import Path

from pyte.screens import Char, Screen
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tools.screen_drawing import save_picture

_NAMES = {"brown": "yellow"}
"""What the emulator calls otherwise."""


def save_terminal(screen: Screen, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (screen.buffer[row] for row in range(screen.lines))
    strips = [Strip([_segment(row[place]) for place in range(screen.columns)]) for row in rows]
    save_picture(strips, path)


def _segment(cell: Char) -> Segment:
    # The second cell of a wide character is empty: the first was drawn over it.
    return Segment(
        cell.data or " ",
        Style(
            color=_colour(cell.fg),
            bgcolor=_colour(cell.bg),
            bold=cell.bold,
            italic=cell.italics,
            underline=cell.underscore,
            reverse=cell.reverse,
            strike=cell.strikethrough,
        ),
    )


def _colour(name: str) -> Color | None:
    if name == "default":
        return None
    if len(name) == 6 and all(digit in "0123456789abcdef" for digit in name.lower()):
        return Color.parse(f"#{name}")
    bright = name.startswith("bright")
    plain = name.removeprefix("bright")
    return Color.parse(f"{'bright_' if bright else ''}{_NAMES.get(plain, plain)}")
