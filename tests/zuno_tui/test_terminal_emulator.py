"""The short ways of the tests' emulator draw what the long ones do."""

import random

import pyte

from tests.zuno_tui.terminal_emulator import Emulator

_PIECES = (
    *("plain words", "│ ▁▂▃ │", "wide 漢字 and é", "e\u0301", "x" * 50, "\r\n", "\t", "\x08", ""),
    *("\x1b[0m", "\x1b[m", "\x1b[1;38;2;10;20;30;48;5;17m", "\x1b[7m", "\x1b[31m", "\x1b[39;49m"),
    *("\x1b[H", "\x1b[3;7H", "\x1b[9;9H", "\x1b[;5H", "\x1b[99;99H", "\x1b[2J", "\x1b[K"),
    *("\x1b[2A", "\x1b[?25l", "\x1b[4h", "\x1b[4l", "\x1b7", "\x1b8"),
    *("\x1b(0", "\x1b(B", "\x0e", "\x0f", "\x1b[L", "\x1b[2M"),
)


def test_the_emulator_draws_what_pyte_draws() -> None:
    chance = random.Random(7)
    for _ in range(100):
        text = "".join(chance.choices(_PIECES, k=60))
        reference, ours = pyte.Screen(40, 8), Emulator(40, 8)
        stream = pyte.Stream(reference)
        cut = chance.randrange(len(text))
        for part in (text[:cut], text[cut:]):
            stream.feed(part)
            ours.take(part)
            # Rows that nobody has looked at are moved differently by the reference itself.
            cells = [[reference.buffer[row][col] for col in range(40)] for row in range(8)]
            ours.shown()

        assert [[ours.buffer[row][col] for col in range(40)] for row in range(8)] == cells
        assert ours.shown() == ["".join(cell.data for cell in row).rstrip() for row in cells]
        assert _place(ours) == _place(reference)


def _place(screen: pyte.Screen) -> tuple[int, int, object]:
    return screen.cursor.x, screen.cursor.y, screen.cursor.attrs
