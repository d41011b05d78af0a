"""Commands whose answer is text: read for the desk's own wallet, and shown on a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from zuno_tui.desk.cleaning import clean_line
from zuno_tui.desk.events import PageReady

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import Intent
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.present.answer import CommandAnswer

    Answering = Callable[[Session, Intent], Awaitable[CommandAnswer]]

_PATIENCE = 180.0
_MOST_LINES = 2_000


async def page_of(answering: Answering, session: Session, intent: Intent) -> PageReady:
    """A command's answer, line by line."""
    answer = await answering(session, intent)
    lines = (part for line in answer.page for part in line.splitlines() or ("",))
    cleaned = tuple(clean_line(line) for line in lines)
    return PageReady(intent.twin, cleaned[:_MOST_LINES])


class Pages:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def show(self, answering: Answering, intent: Intent) -> None:
        self._desk_context.jobs.start(
            "page", intent.twin, lambda _: self._read(answering, intent), seconds=_PATIENCE
        )

    async def _read(self, answering: Answering, intent: Intent) -> None:
        self._desk_context.tell(await page_of(answering, self._desk_context.session, intent))
