"""`zuno replay RECORD`: a debate again from its record, with no model and no chain."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.bus.ambient import Ambient
from agents.bus.record import MemorySink, RecordWriter
from agents.bus.replay import RecordBrokenError
from agents.bus.run import Listener
from agents.lp.debate import LP_FLOW, debate_start, hold_debate
from agents.lp.services import RecordedEyes
from chain.base.redaction import Redactor
from zuno_tui.session.debate import debate_limits, live_model, with_keys
from zuno_tui.session.replay import Replayed, replayed
from zuno_tui.session.session import Session, say
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings
from zuno_tui.shown.exit_codes import DONE, FAILED
from zuno_tui.shown.output import print_json, print_lines
from zuno_tui.shown.transcript import turn_line

if TYPE_CHECKING:
    from argparse import Namespace

    from agents.bus.replay import Record
    from agents.lp.debate import DebateEnd
    from zuno_tui.settings.debates import DebateSettings


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    again = asyncio.run(replayed(session.home, record_path(session, arguments.record)))
    if arguments.rerun:
        if again.ended is None:
            raise RecordBrokenError(again.words)
        settings = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
        return asyncio.run(_rerun(session, again.record, again.ended, settings, arguments.rerun))
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


async def _rerun(
    session: Session, record: Record, first: DebateEnd, settings: DebateSettings, times: int
) -> int:
    """Ask the model again on the same facts, and count how often the decision flips."""
    if settings.model is None:
        raise SettingsError("A rerun asks a model, and none is set. See: zuno model")
    settings = replace(settings, model=await with_keys(settings.model))
    counted: Counter[str] = Counter()
    with session.open_store() as store:
        for number in range(times):
            async with live_model(settings, store, Listener()) as (model, _):
                ended = await hold_debate(
                    debate_start(record),
                    RecordedEyes(record),
                    model,
                    RecordWriter(
                        MemorySink(),
                        record.request_id,
                        record.versions,
                        Redactor(),
                        flow=LP_FLOW.name,
                    ),
                    ambient=Ambient(time.time, lambda: record.request_id),
                    request_id=record.request_id,
                    limits=debate_limits(settings),
                )
            say(f"{number + 1} of {times}: {_decision(ended)}")
            counted[_decision(ended)] += 1
    was = _decision(first)
    flips = times - counted[was]
    if session.as_json:
        print_json({"recorded": was, "reruns": times, "flips": flips, "decisions": dict(counted)})
    else:
        print_lines([f"The record decided {was}; {flips} of {times} reruns decided otherwise."])
    return DONE


def _decision(ended: DebateEnd) -> str:
    if ended.plan is None:
        return "no plan"
    plan = ended.plan
    if plan.choice.kind != "move":
        return plan.choice.kind
    return f"{plan.recommended.kind} {plan.recommended.tick_lower}…{plan.recommended.tick_upper}"
