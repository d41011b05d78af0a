"""Lines fit the terminal they are shown on, lose nothing, and are coloured on terminals alone."""

import re
from io import StringIO

import pytest

from zuno_tui.present.terminal import (
    OutputColumn,
    Terminal,
    cell_width,
    fit_lines,
    table,
    terminal_of,
)

COLUMNS = (
    *(OutputColumn("#", "right"), OutputColumn("POOL"), OutputColumn("STATE")),
    *(OutputColumn("VALUE", "right"), OutputColumn("WHAT TO KNOW"), OutputColumn("FEES", "right")),
)
ROWS = [
    ("26", "WETH/USDC", "out of range", "$8,707.49", "left its range at noon and waits", "$1.00"),
    ("27", "漢字/USDC", "in range", "−$6,928.05", "fine", "+$22.95"),
]


class _TtyStream(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", range(40, 201, 10))
def test_a_table_fits_every_width_and_keeps_every_word(width: int) -> None:
    shown = list(fit_lines(table(COLUMNS, ROWS), Terminal(width, colours=False)))

    assert max(map(cell_width, shown)) <= width
    words = "\n".join(shown).split()
    for row in ROWS:
        assert {word for cell in row for word in cell.split()} <= set(words)


def test_what_has_room_is_left_as_it_is() -> None:
    lines = table(COLUMNS, ROWS)

    assert list(fit_lines(lines, Terminal(None, colours=False))) == lines
    assert list(fit_lines(lines, Terminal(200, colours=False))) == lines


def test_colours_change_nothing_but_colour() -> None:
    lines = table(COLUMNS, ROWS)
    plain = list(fit_lines(lines, Terminal(80, colours=False)))
    coloured = list(fit_lines(lines, Terminal(80, colours=True)))

    assert coloured != plain
    assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == plain


def test_a_long_sentence_is_broken_between_words() -> None:
    sentence = "  " + "word " * 40

    shown = list(fit_lines([sentence], Terminal(60, colours=False)))

    assert max(map(len, shown)) <= 60
    assert " ".join(shown).split() == sentence.split()


@pytest.mark.parametrize(
    ("variables", "colours"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_only_a_terminal_that_wants_them_has_colours(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colours: bool
) -> None:
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert terminal_of(_TtyStream()).colours is colours
    assert terminal_of(StringIO()) == Terminal(None, colours=False)


def test_a_pipe_is_as_wide_as_somebody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    assert terminal_of(StringIO()) == Terminal(60, colours=False)
