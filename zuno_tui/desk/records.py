"""The records of past debates: which there are, and one heard again with no model and no chain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agents.lp.debate import DebateEnd
from agents.lp.payloads import summarise
from zuno_tui.app.record_replay import replayed
from zuno_tui.app.replay import record_path
from zuno_tui.desk.events import DebateChanged, RecordsReady, Said, ViewAsked
from zuno_tui.desk.prose import ending, turn_view
from zuno_tui.present.views import DebateView, RecordRow

if TYPE_CHECKING:
    from agents.trade.flow import DeskEnd
    from zuno_tui.commands.replay import Replay
    from zuno_tui.desk.context import DeskContext

_MOST_LISTED = 100
_PATIENCE = 60.0


class Records:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def show(self) -> None:
        self._desk_context.jobs.start(
            "records", "Reading the records", lambda _: self._list(), seconds=_PATIENCE
        )

    def replay(self, intent: Replay) -> None:
        self._desk_context.jobs.start(
            "replay", "Reading the record", lambda _: self._hear(intent), seconds=_PATIENCE
        )

    async def _list(self) -> None:
        rows = await asyncio.to_thread(record_rows, self._desk_context.session.home.records)
        self._desk_context.tell(RecordsReady(rows))

    async def _hear(self, intent: Replay) -> None:
        session = self._desk_context.session
        path = record_path(session, intent.record)
        again = await replayed(session.home, path)
        words = f"{again.words} Its last hash is {again.judged.last_hash}."
        turns = () if again.ended is None else again.ended.transcript
        ended = words if again.ended is None else f"{_ending(again.ended)} {words}"
        subject = f"{summarise(path).subject}, again"
        shown = tuple(turn_view(turn) for turn in turns)
        self._desk_context.tell(
            DebateChanged(DebateView(again.record.request_id, subject, shown, ended))
        )
        self._desk_context.tell(ViewAsked("debate"))
        self._desk_context.tell(
            Said(again.words, "good" if again.judged.holds else "bad", intent.twin)
        )


def _ending(ended: DebateEnd | DeskEnd) -> str:
    if isinstance(ended, DebateEnd):
        return ending(ended)
    if ended.plan is None:
        return "It ended without a plan."
    return f"{ended.plan.plan_id} says {ended.plan.decision.value}."


def record_rows(folder: Path) -> tuple[RecordRow, ...]:
    """The newest first, by their ends alone: whether one holds is told when it is replayed."""
    paths = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(_row(path) for path in paths[:_MOST_LISTED])


def _row(path: Path) -> RecordRow:
    told = summarise(path)
    return RecordRow(path.stem, path.stat().st_mtime, told.subject, told.outcome)
