"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

import asyncio
from argparse import Namespace
from pathlib import Path

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
from agents.lp.debate import LP_FLOW, replay_debate
from chain.base.errors import error_kind
from chain.base.home import Home
from zuno_tui.app.feature import RunAgain, feature_of_flow
from zuno_tui.app.session import Session, say
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.present.transcript import describe_end, turn_line
from zuno_tui.settings import SettingsError


class Replayed(Struct, frozen=True):
    record: Record
    judged: ReplayJudgment
    report: ReplayReport | None
    """None where what is recorded is of a form that this version cannot run again."""
    ended: RunAgain | None

    @property
    def words(self) -> str:
        lines = len(self.record.lines) if self.report is None else self.report.compared
        return judgment_words(self.judged, lines)


async def run_replay(home: Home, path: Path) -> Replayed:
    """Read, run again with no model and no chain, and held against the plan that came of it."""
    record = read_record(path)
    planned = PlanStore(home.plans).record_hash(record.request_id)
    feature = feature_of_flow(record.flow)
    flow = None if feature is None or feature.plan_flow is None else feature.plan_flow()
    running = running_versions(LP_FLOW.package if flow is None else flow.package)
    ended: RunAgain | None = None
    try:
        ended = await (_debate_again(record) if flow is None else flow.replay(record))
    except (ValueError, TypeError, LookupError) as error:
        if dict(record.versions) == running:
            raise RecordBrokenError(
                f"{path.name} cannot be run again ({error_kind(error)}): what it holds was "
                "never written by this version of zuno."
            ) from error
    report = None if ended is None else ended.report
    return Replayed(record, judge_replay(record, report, planned, running), report, ended)


async def _debate_again(record: Record) -> RunAgain:
    report, ended = await replay_debate(record)
    plan_id = None if ended.plan is None else ended.plan.plan_id
    return RunAgain(report, ended.transcript, plan_id, describe_end(ended))


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    again = asyncio.run(run_replay(session.home, record_path(session, arguments.record)))
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
    plan_id = None if ended is None else ended.plan_id
    if session.as_json:
        print_json(
            {
                **parts(record, "request_id", "complete"),
                **parts(judged, "verdict", "written_by"),
                "matches": judged.holds,
                "lines": None if again.report is None else again.report.compared,
                "planId": plan_id,
                "firstDifference": judged.line,
                "recordHash": judged.last_hash,
                "planHash": judged.planned_hash,
                "runBy": dict(judged.running),
            }
        )
        return
    if ended is not None:
        print_lines(turn_line(turn.role, turn.thought) for turn in ended.transcript)
    say(again.words)
    say(f"{plan_id or 'no plan'}, last hash {judged.last_hash}")
