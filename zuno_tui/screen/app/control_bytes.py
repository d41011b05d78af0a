"""The last gate before the terminal: Textual cleans nothing, so every drawn line passes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

from chain.base.clean_text import DROP

if TYPE_CHECKING:
    from textual.color import Color

# Each stands for one of the same width, so that no column moves.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("─━╸╌┄═▔▁▂▃▄▀", "-"),
        **dict.fromkeys("│┃║╎┆▌▐▎▏▕▍", "|"),
        **dict.fromkeys("┌┐└┘╭╮╰╯┬┴┼┏┓┗┛", "+"),
        **dict.fromkeys("█▇▆▅■▉▊▋", "#"),
        **{chr(dots): "*" for dots in range(0x2801, 0x2900)},
        **dict.fromkeys("░▒▓", "."),
        **dict.fromkeys("├", "["),
        **dict.fromkeys("┤", "]"),
        **dict.fromkeys("●◆", "o"),
        **dict.fromkeys("○", "."),
        **dict.fromkeys("★✓", "*"),
        **dict.fromkeys("✗×", "x"),
        **dict.fromkeys("▲↑", "^"),
        **dict.fromkeys("▼↓", "v"),
        **dict.fromkeys("▸›→❯⮞▶", ">"),
        **dict.fromkeys("◐", "~"),
        **dict.fromkeys("‹←", "<"),
        **dict.fromkeys("·•−–—", "-"),
        **dict.fromkeys("…", "~"),
        **dict.fromkeys("’‘", "'"),
        **dict.fromkeys("“”", '"'),
        **dict.fromkeys("≤", "<"),
        **dict.fromkeys("≥", ">"),
        **dict.fromkeys("\u00a0", " "),
    }
)


class ControlGuard(LineFilter):
    """Drops what could steer the terminal, whichever widget drew it and wherever it came from."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            segment
            if segment.control or (segment.text.isascii() and segment.text.isprintable())
            else Segment(segment.text.translate(DROP), segment.style)
            for segment in segments
        ]


class AsciiOnly(LineFilter):
    """For terminals and ears that know ASCII alone; a letter it lacks becomes a question mark."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            segment
            if segment.control or segment.text.isascii()
            else Segment(_ascii(segment.text), segment.style)
            for segment in segments
        ]


def _ascii(text: str) -> str:
    # Between two numbers an arrow's head alone would compare them.
    arrows = text.replace(" →", "->")
    return "".join(
        character if character.isascii() else "?" * cell_len(character)
        for character in arrows.translate(_PLAIN)
    )
