"""A record replayed and judged, as the command line and the desk both need it."""

from __future__ import annotations

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

if TYPE_CHECKING:
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
