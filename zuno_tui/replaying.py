"""A record replayed and judged, as the command line and the desk both need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.debate import Ended, replay_debate
from agents.record import running_versions
from agents.replay import (
    Judged,
    RecordBrokenError,
    ReplayReport,
    judge_replay,
    judgment_words,
    read_record,
)
from agents.shelf import PlanShelf

if TYPE_CHECKING:
    from pathlib import Path

    from agents.replay import Record
    from chain.home import Home


@dataclass(frozen=True, slots=True)
class Replayed:
    record: Record
    judged: Judged
    report: ReplayReport | None
    """None where what is recorded is of a form that this version cannot run again."""
    ended: Ended | None

    @property
    def words(self) -> str:
        lines = len(self.record.lines) if self.report is None else self.report.compared
        return judgment_words(self.judged, lines)


async def replayed(home: Home, path: Path) -> Replayed:
    """Read, run again with no model and no chain, and held against the plan that came of it."""
    record = read_record(path)
    planned = PlanShelf(home.plans).record_hash(record.request_id)
    running = running_versions()
    report: ReplayReport | None = None
    ended: Ended | None = None
    try:
        report, ended = await replay_debate(record)
    except (ValueError, TypeError, LookupError) as error:
        if dict(record.versions) == running:
            raise RecordBrokenError(
                f"{path.name} cannot be run again ({type(error).__name__}): what it holds was "
                "never written by this version of zuno."
            ) from error
    return Replayed(record, judge_replay(record, report, planned, running), report, ended)
