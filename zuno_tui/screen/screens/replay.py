"""A debate from its record, one turn at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content

from zuno_tui.screen.keys import STEPPING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.lines import KeyLine
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.panes.turn import Speakers, TurnBlock
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.link import DeskLink
    from zuno_tui.present.views import DebateView


class ReplayScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*STEPPING]
    ABOUT = "replay"

    def __init__(self, link: DeskLink, view: DebateView) -> None:
        super().__init__(link)
        self._view = view
        self._shown = 1
        self._sourced = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="replay", classes="visit", can_focus=False) as page:
            page.border_title = literal(f"{self._view.subject} · {self._view.request_id}")
            speakers = Speakers()
            for turn in self._view.turns:
                block = TurnBlock(turn.role, speakers.of(turn.role), turn.round)
                block.finish(turn)
                yield block
            yield PlainText(literal(self._view.ended or "", "bold"), id="ending")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()

    def action_step(self, turns: int) -> None:
        self._to(self._shown + turns)

    def action_edge(self, last: int) -> None:
        self._to(len(self._view.turns) if last else 1)

    def action_sources(self) -> None:
        self._sourced = not self._sourced
        self._draw()

    def action_scroll_lines(self, step: int) -> None:
        self._page.scroll_relative(y=step, animate=False)

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one("#replay", VerticalScroll)

    def _to(self, shown: int) -> None:
        shown = max(1, min(len(self._view.turns), shown))
        if shown != self._shown:
            self._shown = shown
            self._draw()

    def _draw(self) -> None:
        blocks = list(self.query(TurnBlock))
        for place, block in enumerate(blocks, 1):
            block.display = place <= self._shown
            block.draw(sourced=self._sourced, folded=False, needle="")
        over = self._shown >= len(blocks)
        self.query_one("#ending").display = over
        self._page.border_subtitle = Content(
            f"turn {self._shown} of {len(blocks)} · from its record: no model, no chain"
        )
        self.call_after_refresh(self._page.scroll_end, animate=False)
