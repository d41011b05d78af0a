"""The records of past debates: which there are, and one heard again with no model and no chain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.debate import replay_debate
from agents.envelope import Kind
from agents.replay import RecordBrokenError, read_record
from zuno_tui.cli.replay import record_path
from zuno_tui.desk.debate_views import ending, turn_view
from zuno_tui.desk.events import DebateChanged, RecordsReady, Said, ViewAsked
from zuno_tui.desk.views import DebateView, RecordRow

if TYPE_CHECKING:
    from pathlib import Path

    from agents.replay import Record
    from zuno_tui.desk.bench import Bench
    from zuno_tui.desk.intents import Replay

_MOST_LISTED = 100
_PATIENCE = 60.0


class Records:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def show(self) -> None:
        self._bench.jobs.start(
            "records", "Reading the records", lambda _: self._list(), seconds=_PATIENCE
        )

    def replay(self, asked: Replay) -> None:
        self._bench.jobs.start(
            "replay", "Reading the record", lambda _: self._hear(asked), seconds=_PATIENCE
        )

    async def _list(self) -> None:
        rows = await asyncio.to_thread(record_rows, self._bench.session.home.records)
        self._bench.tell(RecordsReady(rows))

    async def _hear(self, asked: Replay) -> None:
        record = read_record(record_path(self._bench.session, asked.record))
        report, ended = await replay_debate(record)
        same = (
            f"The replay matches its record, all {report.compared} lines."
            if report.difference is None
            else f"The replay differs from its record from line {report.difference.line} on."
        )
        turns = tuple(turn_view(turn) for turn in ended.transcript)
        view = DebateView(
            record.request_id, f"{_subject(record)}, again", turns, f"{ending(ended)} {same}"
        )
        self._bench.tell(DebateChanged(view))
        self._bench.tell(ViewAsked("debate"))
        self._bench.tell(Said(same, "good" if report.matches else "bad", asked.twin))


def record_rows(folder: Path) -> tuple[RecordRow, ...]:
    """The newest first; a record that is broken is listed as that."""
    paths = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(_row(path) for path in paths[:_MOST_LISTED])


def _row(path: Path) -> RecordRow:
    when = path.stat().st_mtime
    try:
        record = read_record(path)
    except RecordBrokenError as error:
        return RecordRow(path.stem, when, "unknown", str(error))
    return RecordRow(path.stem, when, _subject(record), _outcome(record))


def _subject(record: Record) -> str:
    match record.inputs().get("start"):
        case {"tokenId": str(token_id)}:
            return f"position #{token_id}"
    return "a new position"


def _outcome(record: Record) -> str:
    for line in reversed(record.lines):
        match line.body:
            case {"kind": Kind.PLAN_READY, "payload": {"plan": {"choice": {"kind": str(kind)}}}}:
                return kind
            case {"kind": Kind.FLOW_FAILED, "payload": {"reason": str(reason)}}:
                return f"failed: {reason}"
    return "unfinished"
