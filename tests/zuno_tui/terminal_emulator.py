"""The emulator of the tests' terminals, quicker where a full-screen program spends its bytes."""

import re

import pyte
from pyte.charsets import LAT1_MAP
from pyte.modes import IRM
from pyte.screens import Char
from wcwidth import wcwidth

# The emulator draws these, or reads them as colours; a real terminal answers or ignores them.
_NOT_FOR_THE_EMULATOR = re.compile(
    r"\x1b\[[<>=][0-9;]*[A-Za-z]"
    r"|\x1b\[\?[0-9;]*(?:\$p|u)"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[P_^X][^\x1b]*\x1b\\"
)
_SEQUENCE = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|[P_^X][^\x1b]*\x1b\\"
    r"|[ -/]*[0-OQ-WYZ`-~\\]"
    r")"
)
_SEQUENCE_OR_ITS_START = re.compile(rf"{_SEQUENCE}|\x1b")
_PIECES = re.compile(
    r"\x1b\[(?P<numbers>[0-9;]*)(?P<final>[mH])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    rf"|{_SEQUENCE}|.",
    re.DOTALL,
)


class Emulator(pyte.Screen):
    """What is drawn is what `pyte` draws: colours, places and plain text take a shorter way."""

    def __init__(self, cols: int, rows: int) -> None:
        self._narrow: set[str] = set()
        self._cells: dict[Char, dict[str, Char]] = {}
        self._styles: dict[tuple[Char, str], Char] = {}
        self._rows: dict[int, str] = {}
        self._unfinished = ""
        super().__init__(cols, rows)
        self._stream = pyte.Stream(self)

    def take(self, text: str) -> None:
        """Draw what arrived; a sequence cut by its end waits for the rest."""
        text = self._unfinished + text
        sequences = _SEQUENCE_OR_ITS_START.finditer(text)
        whole = next((found.start() for found in sequences if found[0] == "\x1b"), len(text))
        text, self._unfinished = text[:whole], text[whole:]
        for piece in _PIECES.finditer(_NOT_FOR_THE_EMULATOR.sub("", text)):
            if piece["text"]:
                self.draw(piece["text"])
            elif piece["final"] == "m":
                self._style(piece["numbers"])
            elif piece["final"] == "H":
                self.cursor_position(*_numbers(piece["numbers"])[:2])
            else:
                self._stream.feed(piece[0])

    def shown(self) -> list[str]:
        """Only rows that were drawn since are put together again."""
        for row in self.dirty:
            cells = self.buffer[row]
            self._rows[row] = "".join(cells[col].data for col in range(self.columns)).rstrip()
        self.dirty.clear()
        return [self._rows[row] for row in range(self.lines)]

    def draw(self, data: str) -> None:
        end = self.cursor.x + len(data)
        if end > self.columns or not self._is_plain(data):
            super().draw(data)
            return
        cells = self._cells.setdefault(self.cursor.attrs, {})
        line = self.buffer[self.cursor.y]
        for col, letter in enumerate(data, self.cursor.x):
            cell = cells.get(letter)
            if cell is None:
                cell = cells[letter] = self.cursor.attrs._replace(data=letter)
            line[col] = cell
        self.cursor.x = end
        self.dirty.add(self.cursor.y)

    def _is_plain(self, data: str) -> bool:
        """Whether each letter takes one cell, and none is translated or pushes others on."""
        if self.charset or self.g0_charset != LAT1_MAP or IRM in self.mode:
            return False
        if not self._narrow.issuperset(data):
            self._narrow.update(letter for letter in data if wcwidth(letter) == 1)
        return self._narrow.issuperset(data)

    def _style(self, numbers: str) -> None:
        before = self.cursor.attrs
        known = self._styles.get((before, numbers))
        if known is None:
            self.select_graphic_rendition(*_numbers(numbers))
            known = self._styles[before, numbers] = self.cursor.attrs
        self.cursor.attrs = known


def _numbers(text: str) -> list[int]:
    return [int(number or 0) for number in text.split(";")]
