"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zuno_tui.app.record_replay import Replayed, replayed
from zuno_tui.app.session import Session, say
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.present.transcript import turn_line
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    again = asyncio.run(replayed(session.home, record_path(session, arguments.record)))
    _show(session, again)
    return DONE if again.judged.holds else FAILED


def record_path(session: Session, named: str) -> Path:
    """A file, or the request id of a record in the home."""
    path = Path(named)
    if path.exists():
        return path
    kept = session.home.records / f"{named}.jsonl"
    if "/" in named or not kept.exists():
        raise SettingsError(f"There is no record {named!r}. They are in {session.home.records}.")
    return kept


def _show(session: Session, again: Replayed) -> None:
    record, judged, ended = again.record, again.judged, again.ended
    plan = None if ended is None else ended.plan
    if session.as_json:
        print_json(
            {
                "requestId": record.request_id,
                "verdict": judged.verdict.value,
                "matches": judged.holds,
                "lines": None if again.report is None else again.report.compared,
                "complete": record.complete,
                "planId": None if plan is None else plan.plan_id,
                "firstDifference": judged.line,
                "recordHash": judged.last_hash,
                "planHash": judged.planned_hash,
                "writtenBy": dict(judged.written_by),
                "runBy": dict(judged.running),
            }
        )
        return
    if ended is not None:
        print_lines(turn_line(turn.role, turn.thought) for turn in ended.transcript)
    say(again.words)
    say(f"{'no plan' if plan is None else plan.plan_id}, last hash {judged.last_hash}")
