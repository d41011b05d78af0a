"""`zuno debate-check`: recorded situations argued anew with the model and by the rules."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from pydantic import ValidationError

from agents.bus.envelope import Kind
from agents.bus.record import MemorySink, RecordWriter, check_lines
from agents.bus.replay import Record, RecordBrokenError, read_record
from agents.bus.run import Listener
from agents.bus.worker import Ambient
from agents.lp.debate import LP_FLOW, debate_start, hold_debate
from agents.lp.payloads import summarise
from agents.lp.plan import Plan
from agents.lp.services import RecordedEyes, recorded_context
from agents.model.budget import NANO, DebateBudget
from agents.model.interface import Model
from agents.model.speaking import SILENCE
from agents.scorecard.debate_check import (
    CheckedSituation,
    CountedShare,
    DebateCheck,
    DebateRun,
    debate_check,
)
from chain.base.clean_text import Redactor
from chain.base.errors import error_kind
from chain.base.store import Store
from chain.base.units import UNKNOWN, percent
from zuno_tui.app.debate_setup import debate_limits, live_model, with_keys
from zuno_tui.app.model import chosen_settings
from zuno_tui.app.replay import record_path
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.plan_card import plan_pools, range_words
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings


async def argue_again(
    record: Record, settings: DebateSettings, model: Model | None, budget: DebateBudget | None
) -> DebateRun:
    """No chain is read, and nothing is kept of it."""
    sink = MemorySink()
    began = time.monotonic()
    ended = await hold_debate(
        debate_start(record),
        RecordedEyes(record),
        model,
        RecordWriter(sink, record.request_id, record.versions, Redactor(), flow=LP_FLOW.name),
        ambient=Ambient(time.time, lambda: record.request_id),
        request_id=record.request_id,
        limits=debate_limits(settings),
    )
    seconds = time.monotonic() - began
    said = tuple(turn.thought.text for turn in ended.transcript if turn.thought.tag == SILENCE)
    if budget is None:
        return DebateRun(ended.plan, seconds, silences=said)
    spent = budget.report().debate
    replies = _replies(sink.lines)
    return DebateRun(
        ended.plan,
        seconds,
        spent.tokens,
        None if spent.unpriced_tokens else spent.nano_usd,
        len(replies),
        sum(replies),
        said,
    )


def _replies(lines: Sequence[bytes]) -> list[bool]:
    """Of each question to a model, whether its reply could be used."""
    bodies = (line.body for line in check_lines(lines).lines)
    return [
        body["payload"]["raw"] is not None  # type: ignore[index]
        for body in bodies
        if body.get("kind") == Kind.MODEL_REPLY
    ]


_COLUMNS = ("record", "about", "the rules", "with the model", "tokens", "seconds", "cost")


class SkippedRecord(NamedTuple):
    name: str
    reason: str


def decision_words(plan: Plan | None, store: Store | None = None) -> str:
    """`hold`, `exit` or the move with its range in prices."""
    if plan is None:
        return "no plan"
    if plan.choice.kind != "move":
        return plan.choice.kind
    return f"{plan.recommended.kind} {range_words(plan.recommended, plan_pools(plan, store))}"


def report_lines(
    check: DebateCheck, situations: Sequence[CheckedSituation], store: Store
) -> Iterator[str]:
    rows = [_row(situation, store) for situation in situations]
    yield from table([OutputColumn(title) for title in _COLUMNS], rows)
    yield (
        f"agreement with the rules: {_share(check.agreed)}; "
        f"to the very range: {_share(check.agreed_exactly)}"
    )
    again = "" if check.flipped.of else "; with --times 2 it is asked again"
    yield (
        f"flips, asked again about the same facts: {_share(check.flipped)}; "
        f"to another range: {_share(check.flipped_range)}{again}"
    )
    debates = max(1, check.debates)
    yield (
        f"{check.debates} debates with the model: {check.tokens:,} tokens, "
        f"{money(check.nano_usd)}, {check.seconds:.1f} s; each {check.tokens / debates:,.0f} "
        f"tokens and {check.seconds / debates:.1f} s"
    )
    yield f"{check.situations} by the rules: no tokens, {check.rules_seconds:.1f} s"


def check_remarks(
    check: DebateCheck, situations: Sequence[CheckedSituation], skipped: Sequence[SkippedRecord]
) -> Iterator[str]:
    for record in skipped:
        yield f"{record.name} was left out: {record.reason}"
    if check.settled.count:
        yield (
            f"In {check.settled.count} of {check.settled.of} debates the rule had decided before "
            "anybody argued: no model is asked then, and they are counted in no share."
        )
    if check.silent.count:
        reasons = [
            why for situation in situations for run in situation.runs for why in run.silences[:1]
        ]
        first = f" The first reason: {reasons[0]}" if reasons else ""
        yield (
            f"In {check.silent.count} of {check.silent.of} debates no model answered what it was "
            f"asked: they are counted in no share.{first}"
        )


def check_document(
    check: DebateCheck, situations: Sequence[CheckedSituation], skipped: Sequence[SkippedRecord]
) -> Json:
    return {
        "situations": [_situation(situation) for situation in situations],
        "agreement": _share_json(check.agreed),
        "agreementToTheRange": _share_json(check.agreed_exactly),
        "flips": _share_json(check.flipped),
        "flipsOfTheRange": _share_json(check.flipped_range),
        "settled": _share_json(check.settled),
        "silent": _share_json(check.silent),
        **parts(check, "debates", "tokens"),
        "usd": _usd(check.nano_usd),
        "seconds": round(check.seconds, 3),
        "rulesSeconds": round(check.rules_seconds, 3),
        "skipped": [{"record": record.name, "reason": record.reason} for record in skipped],
    }


def _row(situation: CheckedSituation, store: Store) -> tuple[str, ...]:
    decided = dict.fromkeys(decision_words(run.plan, store) for run in situation.model_runs)
    costs = [run.nano_usd for run in situation.runs]
    return (
        situation.request_id,
        situation.subject,
        decision_words(situation.rules.plan, store),
        "; ".join(decided)
        or ("no answer" if any(run.questions for run in situation.runs) else "–"),
        f"{sum(run.tokens for run in situation.runs):,}",
        f"{sum(run.seconds for run in situation.runs):.1f}",
        money(None if None in costs else sum(cost or 0 for cost in costs)),
    )


def _situation(situation: CheckedSituation) -> Json:
    return {
        "requestId": situation.request_id,
        "about": situation.subject,
        "rules": to_builtins(situation.rules.decision),
        "runs": [_run(situation, run) for run in situation.runs],
    }


def _run(situation: CheckedSituation, run: DebateRun) -> Json:
    return {
        **document(run, "decision", without=("plan", "nano_usd")),
        "agrees": run.decision == situation.rules.decision if run.answers else None,
        "usd": _usd(run.nano_usd),
    }


def _share(share: CountedShare) -> str:
    part = share.part
    return UNKNOWN if part is None else f"{percent(part)} ({share.count} of {share.of})"


def _share_json(share: CountedShare) -> Json:
    return document(share, "part")


def money(nano_usd: int | None) -> str:
    return "cost unknown" if nano_usd is None else f"${nano_usd / NANO:.4f}"


def _usd(nano_usd: int | None) -> float | None:
    return None if nano_usd is None else nano_usd / NANO


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


class UsableRecord(Struct, frozen=True):
    path: Path
    record: Record
    chain_id: int


async def model_settings(session: Session) -> DebateSettings:
    """With the keys of the models; an error where none is set."""
    settings = chosen_settings(session)
    if settings.model is None:
        raise SettingsError(_NO_MODEL)
    return replace(settings, model=await with_keys(settings.model))


async def checked_debates(session: Session, asked: DebateCheckOptions) -> CommandAnswer:
    settings = await model_settings(session)
    usable, skipped = _chosen(session, asked)
    if not usable:
        folder = asked.records or session.home.records
        words = f"No record in {folder} holds facts to argue from. Hold a debate: zuno recommend ID"
        document = check_document(debate_check(()), (), skipped)
        return CommandAnswer((), document, remarks=(words,), code=FAILED)
    with session.open_store() as store:
        situations = [
            await _checked(session, settings, store, record, asked.times) for record in usable
        ]
        lines = tuple(report_lines(debate_check(situations), situations, store))
    check = debate_check(situations)
    return CommandAnswer(
        lines=lines,
        document=check_document(check, situations, skipped),
        remarks=tuple(check_remarks(check, situations, skipped)),
        code=FAILED if check.silent.of and check.silent.part == 1 else DONE,
    )


def _chosen(
    session: Session, asked: DebateCheckOptions
) -> tuple[list[UsableRecord], tuple[SkippedRecord, ...]]:
    """The latest records that can be argued about, and why others cannot."""
    usable: list[UsableRecord] = []
    skipped: list[SkippedRecord] = []
    for found in usable_records(session, asked):
        if len(usable) == asked.situations:
            break
        if isinstance(found, SkippedRecord):
            skipped.append(found)
        else:
            usable.append(found)
    return usable, tuple(skipped)


def usable_records(
    session: Session, asked: DebateCheckOptions
) -> Iterator[UsableRecord | SkippedRecord]:
    """Each record that was asked for, the newest first, or why it cannot be argued about."""
    return (_usable(path) for path in _paths(session, asked))


def _paths(session: Session, asked: DebateCheckOptions) -> Iterator[Path]:
    if asked.record is not None:
        here = None if asked.records is None else asked.records / f"{asked.record}.jsonl"
        yield here if here and here.is_file() else record_path(session, asked.record)
        return
    folder = asked.records or session.home.records
    if asked.records is not None and not folder.is_dir():
        raise SettingsError(f"There is no folder {folder}.")
    found = folder.glob("*.jsonl")
    yield from sorted(found, key=lambda path: (path.stat().st_mtime, path.name), reverse=True)


def _usable(path: Path) -> UsableRecord | SkippedRecord:
    try:
        record = read_record(path)
        seen = recorded_context(record)
    except RecordBrokenError as error:
        return SkippedRecord(path.name, str(error))
    except (ValidationError, OSError) as error:
        reason = f"what it holds cannot be read by this version ({error_kind(error)})"
        return SkippedRecord(path.name, reason)
    if record.flow not in (None, "lp"):
        return SkippedRecord(path.name, "it is of another flow")
    if seen is None:
        return SkippedRecord(path.name, "it ended before anything was observed")
    return UsableRecord(path, record, seen.chain_id)


async def _checked(
    session: Session, settings: DebateSettings, store: Store, usable: UsableRecord, times: int
) -> CheckedSituation:
    record = usable.record
    rules = await argue_again(record, settings, None, None)
    runs = []
    for number in range(1, times + 1):
        async with live_model(settings, store, Listener()) as (model, budget):
            run = await argue_again(record, settings, model, budget)
        runs.append(run)
        session.narrate(
            f"{record.request_id}, {number} of {times}: {decision_words(run.plan, store)}; "
            f"the rules: {decision_words(rules.plan, store)}"
        )
    return CheckedSituation(record.request_id, summarise(usable.path).subject, rules, tuple(runs))
