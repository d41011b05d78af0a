"""An endpoint tried while it is typed: each answer on a line, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work
from textual.content import Content
from textual.message import Message

from chain.base.clean_text import DROP
from chain.contracts.networks import Network
from zuno_tui.app import first_steps
from zuno_tui.app.first_steps import CHECK_MARKS, Check, CheckState
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import PlainText
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from textual.timer import Timer


TRY_AFTER_SECONDS = 0.6
"""Of quiet at the field before an endpoint is tried."""
_TONES = {CheckState.WELL: "$success", CheckState.CAUTION: "$warning", CheckState.BROKEN: "$error"}


class EndpointTrial(PlainText):
    class Finished(Message):
        """All is known of the endpoint that was typed last."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__("", id=id)
        self._timer: Timer | None = None
        self._asked: str | None = None
        self._checks: tuple[Check, ...] = ()
        self.ended = False
        """Whether the last URL was tried to the end."""

    @property
    def is_broken(self) -> bool:
        return any(check.state is CheckState.BROKEN for check in self._checks)

    def forget(self) -> None:
        """What was found of another URL is gone at once."""
        if self._timer is not None:
            self._timer.stop()
        self._asked, self._checks, self.ended = None, (), False
        self._tell(Content(""))

    def begin_soon(self, network: Network, text: str) -> None:
        """Once nothing was typed for a moment."""
        self.forget()
        self._timer = self.set_timer(TRY_AFTER_SECONDS, lambda: self.begin(network, text))

    def begin(self, network: Network, text: str) -> None:
        if self._asked != text:
            self.forget()
            self._run(network, text)

    @work(group="endpoint", exclusive=True, exit_on_error=False)
    async def _run(self, network: Network, text: str) -> None:
        try:
            place = first_steps.checked_place(network, text.translate(DROP))
        except SettingsError:
            # It may not be typed to its end: Enter says what is wrong with it.
            return
        self._asked = text
        loop = asyncio.get_running_loop()

        def report(check: Check) -> None:
            loop.call_soon_threadsafe(self._take, text, check)

        self._tell(literal("Trying it …", "$quiet"))
        await asyncio.to_thread(first_steps.try_place, place, report)
        if self._asked == text:
            self.ended = True
            self.post_message(self.Finished())

    def _take(self, text: str, check: Check) -> None:
        if self._asked == text:
            self._checks = (*self._checks, check)
            self._tell(check_lines(self._checks))

    def _tell(self, words: Content) -> None:
        """Without words it takes no room."""
        self.display = bool(words)
        self.update(words)


def check_lines(checks: Sequence[Check]) -> Content:
    """Each answer with a mark, and below it what to do where it is not well."""
    lines = []
    for check in checks:
        mark = literal(CHECK_MARKS[check.state], _TONES[check.state])
        named = f" {check.name:<9}" if check.state is not CheckState.BROKEN else " "
        lines.append(Content.assemble(mark, literal(named, "$quiet"), literal(check.finding)))
        if check.next_step:
            lines.append(literal(f"  → {check.next_step}", "$quiet"))
    return Content("\n").join(lines)
