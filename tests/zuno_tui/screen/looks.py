"""A screen as it stands in the terminal: its lines as text, and every pair of text and ground."""

import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from rich.color import Color
from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.strip import Strip

KEPT = Path(__file__).parent / "looks"
SIZES = ((80, 24), (120, 36), (200, 55))
ENOUGH_CONTRAST = 4.5
_TRIES = 30
_BETWEEN = 0.1


class Pair(NamedTuple):
    """Text on its ground, in red, green and blue."""

    text: tuple[int, int, int]
    ground: tuple[int, int, int]

    @property
    def contrast(self) -> float:
        """By WCAG 2."""
        lighter, darker = sorted(map(_luminance, self), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)


def lines_of(pilot: Pilot[None]) -> list[str]:
    strips = _drawn(pilot)
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def _drawn(pilot: Pilot[None]) -> list[Strip]:
    visible_screen_stack.set(pilot.app._background_screens)
    return pilot.app.screen._compositor.render_strips()


def front_of(pilot: Pilot[None]) -> list[str]:
    """What is in front: a question without the desk behind it, which is dimmed on purpose."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in _front(pilot)]


def _front(pilot: Pilot[None]) -> list[Strip]:
    screen = pilot.app.screen
    region = screen.children[0].region if screen.is_modal else screen.region
    strips = _drawn(pilot)[region.y : region.bottom]
    return [strip.crop(region.x, region.right) for strip in strips]


def pairs_of(pilot: Pilot[None]) -> dict[Pair, str]:
    """Each pair with some words drawn in it; colours that are the terminal's own are not ours."""
    return dict(_pairs(pilot))


def _pairs(pilot: Pilot[None]) -> Iterator[tuple[Pair, str]]:
    for strip in _front(pilot):
        for segment in strip:
            style = segment.style
            if style is None or not any(letter.isalnum() for letter in segment.text):
                continue
            text, ground = _triplet(style.color), _triplet(style.bgcolor)
            if text is not None and ground is not None:
                yield Pair(ground, text) if style.reverse else Pair(text, ground), segment.text


def _triplet(color: Color | None) -> tuple[int, int, int] | None:
    if color is None or color.triplet is None:
        return None
    return color.triplet.red, color.triplet.green, color.triplet.blue


def _luminance(colour: tuple[int, int, int]) -> float:
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_LIGHT_FRAMES = str.maketrans("┏━┓┃┗┛", "╭─╮│╰╯")


async def assert_looks(name: str, pilot: Pilot[None], *, heavy_is_light: bool = False) -> list[str]:
    """As it is kept beside the tests; ZUNO_KEEP_LOOKS=1 keeps what is drawn now instead.

    Without colours a heavy frame shows the focus, and may count as the light one it has in colour;
    a scroll bar that is thin there always does.
    A screen is drawn in steps (widths, words, heights), and a busy machine takes its time.
    """
    path = KEPT / f"{name}.txt"
    keeps = bool(os.environ.get("ZUNO_KEEP_LOOKS"))
    kept = path.read_text("utf-8").splitlines() if path.exists() and not keeps else []
    for _ in range(_TRIES):
        await pilot.pause(_BETWEEN)
        drawn = [line.replace("┊", "▐") for line in lines_of(pilot)]
        if heavy_is_light:
            drawn = [line.translate(_LIGHT_FRAMES) for line in drawn]
        if drawn == kept:
            return drawn
    if keeps:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(drawn) + "\n", "utf-8")
        return drawn
    difference = "\n".join(unified_diff(kept, drawn, "kept", "drawn", lineterm=""))
    assert drawn == kept, f"{path.name}: look at it, then ZUNO_KEEP_LOOKS=1\n{difference}"
    return drawn
