"""`zuno debate-check`: recorded situations argued anew with the model and by the rules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from agents.bus.replay import Record, RecordBrokenError, read_record
from agents.bus.run import Listener
from agents.lp.payloads import PlanReady, summarise
from agents.lp.services import recorded_context
from agents.scorecard.debate_check import CheckedSituation, debate_check
from agents.scorecard.score import ScoreStore
from zuno_tui.app.debate_setup import live_model, with_keys
from zuno_tui.app.model import chosen_settings
from zuno_tui.app.replay import record_path
from zuno_tui.app.rerun import argued_anew
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.debate_check_report import (
    SkippedRecord,
    check_document,
    check_lines,
    check_remarks,
    decision_words,
)
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from chain.base.store import Store
    from zuno_tui.app.session import Session
    from zuno_tui.settings.debates import DebateSettings

_NO_MODEL = (
    "No model is set, and a debate check compares one with the rules. Choose one: zuno model"
)


class DebateCheckOptions(Struct, frozen=True):
    record: str | None
    """This one alone; None for the latest."""
    situations: int
    times: int
    records: Path | None
    """A folder instead of the home's."""


class _Usable(Struct, frozen=True):
    path: Path
    record: Record
    chain_id: int


async def checked_debates(session: Session, asked: DebateCheckOptions) -> CommandAnswer:
    settings = chosen_settings(session)
    if settings.model is None:
        raise SettingsError(_NO_MODEL)
    settings = replace(settings, model=await with_keys(settings.model))
    usable, skipped = _chosen(session, asked)
    if not usable:
        folder = asked.records or session.home.records
        words = f"No record in {folder} holds facts to argue from. Hold a debate: zuno recommend ID"
        document = check_document(debate_check(()), (), skipped)
        return CommandAnswer((), document, remarks=(words,), code=FAILED)
    with session.open_store() as store:
        situations = [await _checked(session, settings, store, one, asked.times) for one in usable]
        lines = tuple(check_lines(debate_check(situations), situations, store))
    check = debate_check(situations)
    return CommandAnswer(
        lines=lines,
        document=check_document(check, situations, skipped),
        remarks=tuple(check_remarks(check, situations, skipped)),
        code=FAILED if check.silent.of and check.silent.part == 1 else DONE,
    )


def _chosen(
    session: Session, asked: DebateCheckOptions
) -> tuple[list[_Usable], tuple[SkippedRecord, ...]]:
    """The latest records that can be argued about, and why others cannot."""
    usable: list[_Usable] = []
    skipped: list[SkippedRecord] = []
    for path in _paths(session, asked):
        if len(usable) == asked.situations:
            break
        found = _usable(path)
        if isinstance(found, SkippedRecord):
            skipped.append(found)
        else:
            usable.append(found)
    return usable, tuple(skipped)


def _paths(session: Session, asked: DebateCheckOptions) -> Iterator[Path]:
    if asked.record is not None:
        yield record_path(session, asked.record)
        return
    folder = asked.records or session.home.records
    if asked.records is not None and not folder.is_dir():
        raise SettingsError(f"There is no folder {folder}.")
    found = folder.glob("*.jsonl")
    yield from sorted(found, key=lambda path: (path.stat().st_mtime, path.name), reverse=True)


def _usable(path: Path) -> _Usable | SkippedRecord:
    try:
        record = read_record(path)
        seen = recorded_context(record)
    except RecordBrokenError as error:
        return SkippedRecord(path.name, str(error))
    except (ValidationError, OSError) as error:
        reason = f"what it holds cannot be read by this version ({type(error).__name__})"
        return SkippedRecord(path.name, reason)
    if record.flow not in (None, "lp"):
        return SkippedRecord(path.name, "it is of another flow")
    if seen is None:
        return SkippedRecord(path.name, "it ended before anything was observed")
    return _Usable(path, record, seen.chain_id)


async def _checked(
    session: Session, settings: DebateSettings, store: Store, one: _Usable, times: int
) -> CheckedSituation:
    record = one.record
    recorded = _recorded_plan(record)
    rules = await argued_anew(record, settings, None, None)
    runs = []
    for number in range(1, times + 1):
        async with live_model(settings, store, Listener()) as (model, budget):
            run = await argued_anew(record, settings, model, budget)
        runs.append(run)
        session.narrate(
            f"{record.request_id}, {number} of {times}: {decision_words(run.plan, store)}; "
            f"the rules: {decision_words(rules.plan, store)}"
        )
    scores = ScoreStore(store, one.chain_id, time.time).scores()
    judged = [score for score in scores if recorded and score.plan_id == recorded.plan_id]
    return CheckedSituation(
        record.request_id,
        summarise(one.path).subject,
        recorded,
        rules,
        tuple(runs),
        max(judged, key=lambda score: score.days, default=None),
    )


def _recorded_plan(record: Record) -> Plan | None:
    for body in reversed(record.messages()):
        if body.get("kind") == "plan_ready":
            try:
                return PlanReady.model_validate(body.get("payload"), strict=False).plan
            except ValidationError:
                return None
    return None
