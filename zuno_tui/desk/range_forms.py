"""The range form: a position's pool, or those for a new one, read once in the back room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.desk.events import RangeReady

if TYPE_CHECKING:
    from zuno_tui.commands.range import ChooseRange
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.jobs import Progress

_PATIENCE = 180.0


class RangeForms:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def open(self, intent: ChooseRange) -> None:
        what = f"position #{intent.token_id}" if intent.token_id is not None else "the pools"
        self._desk_context.jobs.start(
            "range", f"Reading {what}", lambda told: self._read(intent, told), seconds=_PATIENCE
        )

    async def _read(self, intent: ChooseRange, progress: Progress) -> None:
        # What a debate is made of takes a while to import, and is needed for the first form.
        from zuno_tui.app.range import read_range_forms

        desk_context = self._desk_context
        forms = await read_range_forms(
            desk_context.session,
            desk_context.sources,
            intent.question,
            desk_context.opening.environment,
            progress,
        )
        for form in forms:
            form.preview(form.begins)  # the tables behind it are made here, not under a key
        desk_context.tell(RangeReady(intent, forms))
