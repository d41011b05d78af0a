"""The debate as it is spoken: it follows the last word until the reader scrolls away."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from zuno_tui.present.output import FAILED, table_lines
from zuno_tui.present.terminal import TableRow
from zuno_tui.present.views import DebateView, TurnView
from zuno_tui.present.words import role_title
from zuno_tui.screen.keys import DEBATE, MOVING, SEARCH
from zuno_tui.screen.panes.frame import frame, join_parts, literal, pane_title
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from agents.bus.envelope import SpokenTable


_FOLDED = 60
_CLAUSE = re.compile(r"(?:[^,:;.\n]|[.,](?=\d))+")
"""What a sentence begins with."""
_COLOURS = 6
_BAR = 2
"""Cells of the coloured bar beside a turn."""
IN_PLAN = frozenset(
    (
        *("range", "stays 24 h", "cost", "judged", "lasts (95%)"),
        *("earned back", "net next 7 d", "over Keep"),
    )
)
"""Columns of agents' tables that a plan tells, too."""


class Speakers:
    """The colour of each role, by the order in which they first speak."""

    def __init__(self) -> None:
        self._order: list[str] = []

    def of(self, role: str) -> int:
        if role not in self._order:
            self._order.append(role)
        return self._order.index(role) % _COLOURS


def turn_head(
    role: str, speaker: int, round_number: int, *, by_model: bool = False, doing: str = ""
) -> Content:
    parts = [literal(role_title(role).upper(), f"bold $speaker-{speaker}")]
    if by_model:
        parts.append(literal("  model", "$quiet"))
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
    whole = Content("").join([*pieces, prose(text[at:])])
    first = _CLAUSE.match(whole.plain) if turn.concludes else None
    return whole if first is None else whole.stylize("bold", 0, first.end())


def turn_table(
    turn: TurnView, width: int, chosen: str = "", *, beside_plan: bool = False
) -> list[Content]:
    """The table under a turn's words; its marks are signs before they are colours.

    What was chosen has a star, what failed is grey with a colour: what passed needs none.
    """
    table = _untold(turn.table) if beside_plan and turn.table is not None else turn.table
    if table is None:
        return []
    starred = tuple(
        row.model_copy(update={"name": f"★ {row.name}"}) if _is_of(row.name, chosen) else row
        for row in table.rows
    )
    names = tuple(row.name for row in starred)
    titles, *rows = table_lines(table.model_copy(update={"rows": starred}), width or None)
    return [
        literal(titles, "$quiet" if isinstance(titles, TableRow) else ""),
        *(
            literal(line, _row_style(line, names))
            .highlight_regex(f"{FAILED}", style="$error")
            .highlight_regex("^★ .*?  ", style="$success")
            for line in rows
        ),
    ]


def _untold(table: SpokenTable) -> SpokenTable | None:
    """Without what the plan beside it shows of the same moves."""
    kept = [place for place, name in enumerate(table.columns) if name not in IN_PLAN]
    rows = (
        row.model_copy(update={"cells": tuple(row.cells[place] for place in kept)})
        for row in table.rows
    )
    told = tuple(row for row in rows if any(cell.text != "–" for cell in row.cells))
    columns = tuple(table.columns[place] for place in kept)
    return table.model_copy(update={"columns": columns, "rows": told}) if told else None


def _row_style(line: str, names: tuple[str, ...]) -> str:
    """A row of the table as it was spoken; one that was turned over has figures for rows."""
    if line.startswith("★"):
        return "bold"
    return "$quiet" if FAILED in line and line.startswith(names) else ""


def _is_of(name: str, chosen: str) -> bool:
    return bool(chosen) and name.partition(" ")[0] == chosen


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
        self.chosen = ""
        """What was chosen in the end, by the first word of its row."""
        self.beside_plan = self.closes = False

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
    def head(self) -> Content:
        return turn_head(self.role, self._speaker, self._round, by_model=self._by_model)

    @property
    def shows_head(self) -> bool:
        return not self._goes_on

    @property
    def speaks(self) -> tuple[str, int, bool]:
        """Who it is, in which round, and whether a model or the rules."""
        return self.role, self._round, self._by_model

    @property
    def _by_model(self) -> bool:
        return self._turn is not None and self._turn.by_model

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
        head = turn_head(
            self.role, self._speaker, self._round, by_model=self._by_model, doing=doing
        )
        body = prose(self._heard) if self._turn is None else turn_text(self._turn, sourced=sourced)
        cuts = self.closes and self.beside_plan and self._turn is not None and self._turn.concludes
        if cuts and (first := _CLAUSE.match(body.plain)):
            body = body[: first.end()] + "."  # the plan says why
        if folded:
            line = body.plain.replace("\n", " ")
            cut = f"{line[:_FOLDED]}…" if len(line) > _FOLDED else line
            self.update(Content("  ").join([head, literal(cut, "$quiet")]))
            return
        table = (
            []
            if self._turn is None
            else turn_table(
                self._turn, self._drawn_width, self.chosen, beside_plan=self.beside_plan
            )
        )
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


LEAST_SECONDS = 0.5
MOST_SECONDS = 5.0
"""For one turn: whoever reads slower scrolls back, nothing is taken away."""
_WORDS_A_ROW = 4
"""A row of a table is looked over, not read."""


class ReadingPace:
    """Holds turns back until those before them could be read; shows them at once when it is off."""

    def __init__(self, words_a_minute: int, clock: Callable[[], float]) -> None:
        self._words_a_minute = words_a_minute
        self._clock = clock
        self._waiting: deque[TurnView] = deque()
        self._free_at = 0.0

    @property
    def waiting_turns(self) -> int:
        return len(self._waiting)

    @property
    def seconds_left(self) -> float:
        """Until the last turn that is shown could be read."""
        return max(0.0, self._free_at - self._clock()) if self._words_a_minute else 0.0

    def hear(self, turn: TurnView, *, read_already: bool = False) -> list[TurnView]:
        """The turns to show now that this one was heard."""
        if not self._words_a_minute:
            return [turn]
        self._waiting.append(turn)
        if read_already and len(self._waiting) == 1:
            self._free_at = self._clock()
        return self.due()

    def due(self) -> list[TurnView]:
        """The turns whose time has come."""
        shown = []
        while self._waiting and not self.seconds_left:
            turn = self._waiting.popleft()
            shown.append(turn)
            self._free_at = self._clock() + self._reading_seconds(turn)
        return shown

    def all_at_once(self) -> list[TurnView]:
        """Everything that waits; what comes next is shown as it comes."""
        shown = list(self._waiting)
        self.forget()
        return shown

    def forget(self) -> None:
        self._waiting.clear()
        self._free_at = 0.0

    def _reading_seconds(self, turn: TurnView) -> float:
        rows = 0 if turn.table is None else len(turn.table.rows)
        words = len(turn.text.split()) + _WORDS_A_ROW * rows
        return min(max(60 * words / self._words_a_minute, LEAST_SECONDS), MOST_SECONDS)


class SearchField(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*SEARCH]

    class Ended(Message):
        """The words to look for; None when there was nothing to look for after all."""

        def __init__(self, text: str | None) -> None:
            self.text = text
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="search", placeholder="find in the debate", compact=True)
        self.cursor_blink = False

    async def action_submit(self) -> None:
        self.post_message(self.Ended(self.value.strip() or None))

    def action_give_up(self) -> None:
        self.post_message(self.Ended(None))


FLUSH_SECONDS = 0.2
"""Drawing every token costs more than the reader can see; see what a fifth of a second brought."""
_RULE = 1
"""The line under the outcome."""
_MOST_AIR = 4
"""Rows that may stay empty under the last turn."""
MOST_TURNS = 120
"""Older turns leave the screen; the record keeps them all."""


_NOTHING = "Nobody is arguing. Press r on a position and four agents will."


class DebatePane(VerticalScroll, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [*MOVING, *DEBATE]

    class Read(Message):
        """All of a debate that was shown as it went could be read."""

    def __init__(self, pace: ReadingPace | None = None) -> None:
        super().__init__(id="debate", classes="pane")
        self._pace = pace or ReadingPace(0, time.monotonic)
        self._reading: Timer | None = None
        self._view: DebateView | None = None
        self._blocks: list[TurnBlock] = []
        self._turns_ended = 0
        self._speakers = Speakers()
        self._live: dict[str, TurnBlock] = {}
        self._unheard: dict[str, str] = {}
        self._flushing: Timer | None = None
        self._sourced = self._folded = False
        self._needle = ""
        self._found = -1
        self._followed = True
        self._beside_plan = False
        self._opened_at: int | None = None
        """Where a debate that has ended was opened, if not at its end."""

    def compose(self) -> ComposeResult:
        # An anchored pane pulls what is shorter than itself down to its end, unless it fills it.
        with Vertical(id="turns"):
            yield PlainText(literal(_NOTHING, "$quiet"), classes="nothing")

    def on_mount(self) -> None:
        self.anchor()
        frame(self, pane_title("3 Debate"))
        self.watch(self, "scroll_y", self._name_speaker, init=False)
        self.watch(self, "virtual_size", self._snap_when_laid_out, init=False)

    def on_resize(self) -> None:
        self._snap_when_laid_out()

    def _snap_when_laid_out(self) -> None:
        self.call_after_refresh(self._snap)

    @property
    def _turns(self) -> Vertical:
        return self.query_one("#turns", Vertical)

    @property
    def is_being_read(self) -> bool:
        return bool(self._pace.waiting_turns or self._pace.seconds_left)

    @property
    def blocks(self) -> Sequence[TurnBlock]:
        return self._blocks

    @property
    def copy_text(self) -> str:
        return "\n\n".join(f"{block.role}: {block.words}" for block in self._blocks)

    def show(self, view: DebateView) -> None:
        """All of a debate; turns that stand already are left as they are."""
        before, self._view = self._view, view
        goes_on = before is not None and before.request_id == view.request_id
        if not goes_on or len(view.turns) < self._turns_ended:
            self._clear()
        if view.ended is not None:
            self._drop_live()
        for turn in view.turns[self._turns_ended :]:
            # What comes all together is no debate that goes on: it is read from its record.
            self._turns_ended += 1
            self._show_turn(turn)
        self._end_when_read()
        self._retitle()

    def stand_beside_plan(self, beside: bool) -> None:
        """What the plan in sight says is not said again."""
        if beside != self._beside_plan:
            self._beside_plan = beside
            self._draw_all()

    def hear_prose(self, role: str, text: str) -> None:
        self._unheard[role] = self._unheard.get(role, "") + text
        if self._flushing is None:
            self._flushing = self.set_timer(FLUSH_SECONDS, self._flush)

    def hear_thinking(self, role: str, seconds: int) -> None:
        self._block_of(role).think(seconds)

    def end_turn(self, turn: TurnView) -> None:
        """The whole turn takes the place of what was heard of it, once it is its time."""
        self._turns_ended += 1
        self._unheard.pop(turn.role, None)
        for due in self._pace.hear(turn, read_already=turn.role in self._live):
            self._show_turn(due)
        self._read_on_later()
        self._retitle()

    def _show_turn(self, turn: TurnView) -> None:
        block = self._live.pop(turn.role, None)
        if block is None:
            block = TurnBlock(turn.role, self._speakers.of(turn.role), turn.round)
            self._add(block)
        block.finish(turn, after=self._before(block))
        self._draw(block)
        self._retitle()

    def _before(self, block: TurnBlock) -> TurnBlock | None:
        place = self._blocks.index(block)
        return self._blocks[place - 1] if place else None

    def read_on(self) -> None:
        """Show what is due; once nothing waits and the last turn could be read, say so."""
        self._reading = None
        for turn in self._pace.due():
            self._show_turn(turn)
        if self.is_being_read:
            self._read_on_later()
        else:
            self._end_when_read()
            self.post_message(self.Read())
        self._retitle()

    def _read_on_later(self) -> None:
        if self._reading is None and self._pace.seconds_left:
            self._reading = self.set_timer(self._pace.seconds_left, self.read_on)

    def action_skip(self) -> None:
        for turn in self._pace.all_at_once():
            self._show_turn(turn)
        if self._reading is not None:
            self._reading.stop()
            self.read_on()

    def action_sources(self) -> None:
        self._sourced = not self._sourced
        self._draw_all()

    def action_fold(self) -> None:
        self._folded = not self._folded
        self._draw_all()

    def action_search(self) -> None:
        if not self.query(SearchField):
            # What is anchored does not reckon with a field at its foot, and slides up under it.
            self._followed = self.scroll_y >= self.max_scroll_y
            self.anchor(False)
            self.mount(SearchField())
        self.query_one(SearchField).focus()

    def on_search_field_ended(self, event: SearchField.Ended) -> None:
        event.stop()
        self.query(SearchField).remove()
        self.focus()
        if event.text is None:
            self.anchor(self._followed)
            return
        self._needle, self._found = event.text, -1
        self._draw_all()
        self.action_find(1)

    def action_find(self, step: int) -> None:
        wanted = self._needle.lower()
        if not wanted:
            return
        blocks = [block for block in self._blocks if wanted in block.words.lower()]
        if not blocks:
            self._retitle(f"{self._needle!r} is nowhere in the debate")
            return
        self._found = (self._found + step) % len(blocks)
        self.release_anchor()
        self.scroll_to_widget(blocks[self._found], animate=False, top=True)
        self._retitle(f"{self._found + 1} of {len(blocks)} turns with {self._needle!r}")

    def action_down(self) -> None:
        self.scroll_down(animate=False, on_complete=self._follow_at_the_end)

    def action_up(self) -> None:
        self.release_anchor()
        self.scroll_up(animate=False)

    def action_page_down(self) -> None:
        self.scroll_page_down(animate=False, on_complete=self._follow_at_the_end)

    def action_page_up(self) -> None:
        self.release_anchor()
        self.scroll_page_up(animate=False)

    def action_first(self) -> None:
        self.release_anchor()
        self.scroll_home(animate=False)

    def action_last(self) -> None:
        self.action_skip()
        self.anchor()

    def _follow_at_the_end(self) -> None:
        if self.scroll_y >= self.max_scroll_y:
            self.anchor()

    def _flush(self) -> None:
        self._flushing = None
        if self._pace.waiting_turns:
            # Words of a turn that goes on stand under those of turns that have ended.
            self._flushing = self.set_timer(FLUSH_SECONDS, self._flush)
            return
        unheard, self._unheard = self._unheard, {}
        for role, text in unheard.items():
            self._block_of(role).grow(text, folded=self._folded)

    def _block_of(self, role: str) -> TurnBlock:
        """What is heard of a turn that goes on."""
        block = self._live.get(role)
        if block is None:
            block = self._live[role] = TurnBlock(role, self._speakers.of(role))
            self._add(block)
            self._retitle()
        return block

    def _add(self, block: TurnBlock) -> None:
        self.query(".nothing").remove()
        if len(self._blocks) >= MOST_TURNS:
            self._blocks.pop(0).remove()
        self._blocks.append(block)
        self._turns.mount(block)

    def _drop_live(self) -> None:
        """What was heard of turns that never ended, as when a debate was cancelled."""
        self._unheard.clear()
        for block in self._live.values():
            self._blocks.remove(block)
            block.remove()
        self._live.clear()

    def _clear(self) -> None:
        self._pace.forget()
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        self._speakers = Speakers()
        self._unheard.clear()
        self._blocks.clear()
        self._turns_ended = 0
        self._live.clear()
        self._needle, self._found = "", -1
        self._opened_at = None
        self._turns.remove_children()
        self.anchor()

    def _end_when_read(self) -> None:
        view = self._view
        self._end(None if view is None or self._pace.waiting_turns else view.ended)

    def _end(self, words: str | None) -> None:
        self.query(".ending").remove()
        if words is not None:
            # Why is the last thing that is said below, and in the plan.
            does, dot, _ = words.partition(". ")
            told = Content.assemble(
                ("OUTCOME  ", "bold $primary"), literal(f"★ {does}{dot.rstrip()}", "bold")
            )
            self.mount(PlainText(told, classes="ending"), before=0)
            self._draw_all()
            self._snap_when_laid_out()

    def _snap(self) -> None:
        """An ended debate opens where a turn begins: with some air under it, or a little before.

        Only where it follows the end, or opened so: whoever has scrolled is left in peace.
        """
        if self._view is not None and self._view.from_start:
            self._open_at_beginning()
            return
        ending = self.query(".ending")
        follows = self.scroll_y >= self.max_scroll_y or self.scroll_y == self._opened_at
        if not ending or not self._blocks or not follows:
            return
        height, outcome = self.scrollable_content_region.height, ending.first(PlainText)
        self._give_air(height - self._lines_in(outcome))
        start = self._blocks[-1].virtual_region.bottom - height + outcome.outer_size.height
        begins = [block.virtual_region.y for block in self._blocks]
        named = [block.virtual_region.y for block in self._blocks if block.shows_head]
        near = range(start, start + _MOST_AIR + 1)
        after = next((begin for begin in begins if begin >= start), start)
        air = next((begin for begin in named if begin in near), after) - start
        fits = start > 0 and air <= _MOST_AIR
        self._turns.styles.padding = (0, 0, air if fits else 0, 0)
        self._opened_at = None
        if start > 0 and not fits:
            self.release_anchor()
            self._opened_at = max(begin for begin in begins if begin < start)
            self.scroll_to(y=self._opened_at, animate=False)
        else:
            self.anchor()
        self.call_after_refresh(self._name_speaker)

    def _open_at_beginning(self) -> None:
        """Once: what is opened to be read is left where its reader scrolls to."""
        self.release_anchor()
        if self._opened_at is None:
            self._opened_at = 0
            self.scroll_home(animate=False)
        self.call_after_refresh(self._name_speaker)

    def _give_air(self, room: int) -> None:
        """Where all of a debate is seen without the lines between what one speaker says, or
        without the rule under the outcome besides, it is."""
        words = sum(map(self._lines_in, self._blocks))
        between = sum(not block.shows_head for block in self._blocks)
        over = words + len(self._blocks) - 1 - (room - _RULE)
        self.set_class(0 < over <= between + _RULE, "-dense")
        self.set_class(over == between + _RULE, "-flush")

    def _lines_in(self, text: PlainText) -> int:
        """By its words: while it is laid out anew, its size is of neither look."""
        return text.get_content_height(self.size, self.screen.size, text.content_size.width)

    def _name_speaker(self) -> None:
        """On the line under the outcome: how much is above, and whose words follow."""
        ending, top = self.query(".ending"), self.scroll_y
        block = next((each for each in self._blocks if each.virtual_region.bottom > top), None)
        if not ending or block is None:
            return
        seen = block.shows_head and block.virtual_region.y >= top
        above = literal(f"▲ {round(top)} more", "$quiet") if top > 0 else ""
        named = join_parts(above, "" if seen else block.head)
        ending.first(PlainText).border_subtitle = (
            Content.assemble(" ", named, " ") if named else None
        )

    def _draw(self, block: TurnBlock) -> None:
        block.chosen = "" if self._view is None or self._view.ended is None else self._view.chosen
        block.beside_plan = self._beside_plan
        block.closes = block is self._blocks[-1]
        block.draw(sourced=self._sourced, folded=self._folded, needle=self._needle)

    def _draw_all(self) -> None:
        for block in self._blocks:
            self._draw(block)

    def _retitle(self, found: str = "") -> None:
        view = self._view
        if view is None:
            return
        reading = "decided · showing at reading speed" if self._pace.waiting_turns else "ended"
        state = "speaking" if view.ended is None else reading
        more = (
            f"{self._pace.waiting_turns} more · space shows all" if self._pace.waiting_turns else ""
        )
        frame(
            self,
            pane_title("3 Debate", view.subject, state),
            join_parts(found, "with sources" if self._sourced else "", more, view.place),
        )
