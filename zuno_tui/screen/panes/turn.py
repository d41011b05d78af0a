"""One turn of a debate: who speaks, in which round, and what of it did not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.widget import Widget

from zuno_tui.present.spoken_table import FAILED, PASSED, table_lines
from zuno_tui.present.terminal import TableRow
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.plain_text import PlainText

if TYPE_CHECKING:
    from zuno_tui.present.views import TurnView

_FOLDED = 60
_COLOURS = 6
_BAR = 2
"""Cells of the coloured bar beside a turn."""


class Speakers:
    """The colour of each role, by the order in which they first speak."""

    def __init__(self) -> None:
        self._order: list[str] = []

    def of(self, role: str) -> int:
        if role not in self._order:
            self._order.append(role)
        return self._order.index(role) % _COLOURS


def turn_head(role: str, speaker: int, round_number: int, *, doing: str = "") -> Content:
    parts = [literal(role.upper(), f"bold $speaker-{speaker}")]
    if round_number:
        parts.append(literal(f"  round {round_number}", "$quiet"))
    if doing:
        parts.append(literal(f"  {doing}", "$quiet"))
    return Content("").join(parts)


def turn_text(turn: TurnView, *, sourced: bool = False) -> Content:
    """The words with what was struck struck through, and why, right behind it."""
    text, marks = turn.text, turn.struck
    if sourced and turn.sourced:
        text, marks = turn.sourced, turn.sourced_struck
    pieces: list[Content] = []
    at = 0
    for struck in sorted(marks, key=lambda each: each.start):
        if struck.start < at:
            continue
        pieces += (
            prose(text[at : struck.start]),
            literal(text[struck.start : struck.end], "strike $error"),
            literal(f" [✗ {struck.why}]", "$error"),
        )
        at = struck.end
    return Content("").join([*pieces, prose(text[at:])])


def turn_table(turn: TurnView, width: int) -> list[Content]:
    """The table under a turn's words; its marks are signs before they are colours."""
    if turn.table is None:
        return []
    titles, *rows = table_lines(turn.table, width or None)
    return [
        literal(titles, "$quiet" if isinstance(titles, TableRow) else ""),
        *(
            literal(line)
            .highlight_regex(f"{PASSED}", style="$success")
            .highlight_regex(f"{FAILED}", style="$error")
            for line in rows
        ),
    ]


def prose(text: str) -> Content:
    """Words that may run over several lines, each of them literal."""
    return Content("\n").join(literal(line) for line in text.split("\n"))


class _Drawing(NamedTuple):
    """How a turn was drawn last."""

    sourced: bool = False
    folded: bool = False
    needle: str = ""


class TurnBlock(PlainText):
    """A finished turn is drawn once; only a live one grows."""

    def __init__(self, role: str, speaker: int, round_number: int = 0) -> None:
        super().__init__(classes=f"turn -speaker-{speaker}")
        self.role = role
        self._speaker = speaker
        self._round = round_number
        self._turn: TurnView | None = None
        self._heard = ""
        self._goes_on = False
        self._doing = "speaking…"
        self._drawn_width = 0
        self._drawing = _Drawing()

    @property
    def live(self) -> bool:
        return self._turn is None

    @property
    def words(self) -> str:
        if self._turn is None:
            return self._heard
        table = self._turn.table
        lines = () if table is None else table_lines(table, None)
        return "\n".join((self._turn.text, *lines))

    def think(self, seconds: int) -> None:
        self._doing = f"thinking … {seconds} s"
        self.draw(sourced=False, folded=False, needle="")

    def grow(self, text: str, *, folded: bool) -> None:
        self._heard += text
        self._doing = "speaking…"
        self.draw(sourced=False, folded=folded, needle="")

    def finish(self, turn: TurnView, after: TurnBlock | None = None) -> None:
        """The words of one who goes on speaking stand under the name that is there already."""
        self._turn, self._heard, self._round = turn, "", turn.round
        self._goes_on = after is not None and after.speaks == self.speaks
        self.set_class(self._goes_on, "-goes-on")

    @property
    def speaks(self) -> tuple[str, int]:
        """Who it is, and in which round."""
        return self.role, self._round

    def on_resize(self) -> None:
        """A table is drawn for the width there is."""
        if self._turn is not None and self._turn.table and self.size.width != self._drawn_width:
            drawing = self._drawing
            self.draw(sourced=drawing.sourced, folded=drawing.folded, needle=drawing.needle)

    def _room(self) -> int:
        """The width there is, or will be once it is laid out: its container's without its bar."""
        if self.size.width or not isinstance(self.parent, Widget):
            return self.size.width
        return max(0, self.parent.size.width - _BAR)

    def draw(self, *, sourced: bool, folded: bool, needle: str) -> None:
        self._drawn_width, self._drawing = self._room(), _Drawing(sourced, folded, needle)
        doing = self._doing if self.live else ""
        head = turn_head(self.role, self._speaker, self._round, doing=doing)
        body = prose(self._heard) if self._turn is None else turn_text(self._turn, sourced=sourced)
        if folded:
            line = body.plain.replace("\n", " ")
            cut = f"{line[:_FOLDED]}…" if len(line) > _FOLDED else line
            self.update(Content("  ").join([head, literal(cut, "$quiet")]))
            return
        table = [] if self._turn is None else turn_table(self._turn, self._drawn_width)
        above = [] if self._goes_on else [head]
        self.update(Content("\n").join([*above, _marked(body, needle), *table]))


def _marked(body: Content, needle: str) -> Content:
    """Every place where the searched words stand, turned over."""
    if not needle:
        return body
    text, wanted, at = body.plain.lower(), needle.lower(), 0
    while (at := text.find(wanted, at)) >= 0:
        body = body.stylize("reverse", at, at + len(wanted))
        at += len(wanted)
    return body
