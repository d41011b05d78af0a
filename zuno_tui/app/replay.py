"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.plan_store import PlanStore
from agents.bus.record import running_versions
from agents.bus.replay import (
    Record,
    RecordBrokenError,
    ReplayJudgment,
    ReplayReport,
    judge_replay,
    judgment_words,
    read_record,
)
from agents.lp.debate import LP_FLOW, DebateEnd, replay_debate
from agents.trade import FLOW as TRADE_FLOW_NAME
from zuno_tui.app.session import Session, say
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.present.transcript import turn_line
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace

    from agents.trade.flow import DeskEnd
    from chain.base.home import Home


class Replayed(Struct, frozen=True):
    record: Record
    judged: ReplayJudgment
    report: ReplayReport | None
    """None where what is recorded is of a form that this version cannot run again."""
    ended: DebateEnd | DeskEnd | None

    @property
    def words(self) -> str:
        lines = len(self.record.lines) if self.report is None else self.report.compared
        return judgment_words(self.judged, lines)


async def replayed(home: Home, path: Path) -> Replayed:
    """Read, run again with no model and no chain, and held against the plan that came of it."""
    record = read_record(path)
    planned = PlanStore(home.plans).record_hash(record.request_id)
    trading = record.flow == TRADE_FLOW_NAME
    running = running_versions("agents.trade" if trading else LP_FLOW.package)
    report: ReplayReport | None = None
    ended: DebateEnd | DeskEnd | None = None
    try:
        report, ended = await (_desk_again(record) if trading else replay_debate(record))
    except (ValueError, TypeError, LookupError) as error:
        if dict(record.versions) == running:
            raise RecordBrokenError(
                f"{path.name} cannot be run again ({type(error).__name__}): what it holds was "
                "never written by this version of zuno."
            ) from error
    return Replayed(record, judge_replay(record, report, planned, running), report, ended)


async def _desk_again(record: Record) -> tuple[ReplayReport, DeskEnd]:
    from agents.trade.flow import replay_desk

    return await replay_desk(record)


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
