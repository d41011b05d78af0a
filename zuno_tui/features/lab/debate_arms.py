"""`zuno debate-check --arms …`: several ways to decide about recorded situations, compared.

What is compared and by what is written down, with a hash, before the first question is asked. Each
answer is kept as it comes: the same command goes on where the last one ended.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, ValidationError, convert, to_builtins

from agents.bus.record import MemorySink, RecordWriter, running_versions
from agents.bus.run import Listener
from agents.bus.worker import Ambient
from agents.lp.debate import LP_FLOW, debate_start
from agents.lp.facts import ObservedPool, ScoutContext
from agents.lp.payloads import context_hash
from agents.lp.propose import may_win
from agents.lp.services import RecordedEyes, recorded_context
from agents.model.budget import Spent
from agents.model.interface import Model
from agents.scorecard.arm_scores import (
    ArmScore,
    ArmsReport,
    arms_report,
    attempts_of,
    smallest_effect,
)
from agents.scorecard.arms import (
    ARM_WORDS,
    MEASURES,
    Arm,
    ArmAnswer,
    ArmQuestion,
    ArmSilentError,
    DebateTerms,
    JudgedSituation,
    answer_question,
)
from agents.scorecard.debate_check import CountedShare
from agents.scorecard.judging import block_hashes
from agents.scorecard.score import WeekInterval
from agents.scorecard.scoring import judged_hours
from chain.base.clean_text import Redactor
from chain.base.home import FOLDER_MODE, append_line, write_atomically
from chain.base.store import Store
from chain.base.strict_json import canonical, digest, loads
from chain.base.units import UNKNOWN, percent, usd
from chain.history.events import FeeTerms
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.hours import HourRow
from chain.math.fees import unpack_protocol_fee
from chain.positions.overview import Sources
from zuno_tui.app.debate_setup import debate_limits, live_model
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.session import Session
from zuno_tui.features.lab.debate_check import (
    DebateCheckOptions,
    SkippedRecord,
    UsableRecord,
    model_settings,
    money,
    usable_records,
)
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings

_VERSION = 1
_COLUMNS = (
    OutputColumn("ARM"),
    *(
        OutputColumn(title, "right")
        for title in (
            *("OVER RULES", "SKILL", "AS SAID", "BRIER", "FLIPS", "FALSE NUMBERS"),
            *("QUESTIONS", "TOKENS", "COST"),
        )
    ),
)
_NONE = "No recorded situation can be compared: its days are not over, or no range may win."


class ArmsOptions(Struct, frozen=True):
    arms: tuple[Arm, ...]
    times: int
    days: int
    most_tokens: int
    """Of the whole run, whatever was used before counted in."""
    most_nano_usd: int | None


class ArmsRun(Struct, frozen=True):
    """One protocol with what was answered under it."""

    folder: Path
    protocol: Mapping[str, Json]
    sha256: str
    situations: Sequence[JudgedSituation]
    options: ArmsOptions
    answers: list[ArmAnswer]

    def keep(self, answer: ArmAnswer) -> None:
        self.answers.append(answer)
        line = {"protocol": self.sha256, "answer": to_builtins(answer)}
        append_line(self.folder / "answers.jsonl", canonical(line))


async def compared_arms(
    session: Session, asked: DebateCheckOptions, options: ArmsOptions
) -> CommandAnswer:
    settings = await model_settings(session)
    async with session.sources() as sources:
        situations, skipped = await _situations(session, sources, asked, options)
        if not situations:
            remarks = (_NONE, *_left_out_words(skipped))
            return CommandAnswer((), {"situations": 0}, remarks=remarks, code=FAILED)
        run = opened_run(session.home.checks, situations, options, _models(settings))
        session.narrate(f"What is compared is written down: {run.folder / 'protocol.json'}")
        stopped = await _ask_all(session, settings, sources.store, run)
    report = arms_report(situations, options.arms, options.times, run.answers)
    return CommandAnswer(
        lines=tuple(arm_lines(report, run)),
        document=arm_document(report, run),
        remarks=(*_left_out_words(skipped), *_remarks(report, stopped)),
        code=FAILED if stopped else DONE,
    )


def protocol_of(
    situations: Sequence[JudgedSituation], options: ArmsOptions, models: Sequence[str]
) -> Mapping[str, Json]:
    """Everything that decides what the figures mean; budgets only say how far a run gets."""
    effect = smallest_effect(situations)
    return {
        "version": _VERSION,
        "arms": {arm.value: ARM_WORDS[arm] for arm in options.arms},
        "measures": dict(MEASURES),
        "days": options.days,
        "times": options.times,
        "models": list(models),
        "code": dict(running_versions(LP_FLOW.package)),
        "situations": [
            {"requestId": situation.request_id, "contextHash": context_hash(situation.context)}
            for situation in situations
        ],
        "smallestEffectUsd": None if effect is None else round(effect, 2),
    }


def opened_run(
    checks: Path, situations: Sequence[JudgedSituation], options: ArmsOptions, models: Sequence[str]
) -> ArmsRun:
    """The run of this very protocol, begun or gone on with; another protocol is another run."""
    protocol = protocol_of(situations, options, models)
    body = canonical(protocol)
    sha256 = digest(body)
    folder = checks / sha256[:16]
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path = folder / "protocol.json"
    if not path.exists():
        write_atomically(path, body)
    elif digest(path.read_bytes()) != sha256:
        raise SettingsError(f"{path} was changed since its run began. Move {folder} away.")
    kept = list(_read_answers(folder / "answers.jsonl", sha256))
    return ArmsRun(folder, protocol, sha256, situations, options, kept)


def _read_answers(path: Path, sha256: str) -> Iterator[ArmAnswer]:
    """What was answered; a line that was cut off in writing is asked again."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            read = loads(line)
            if isinstance(read, dict) and read.get("protocol") == sha256:
                yield convert(read.get("answer"), ArmAnswer)
        except (ValueError, ValidationError):
            continue


async def _ask_all(session: Session, settings: DebateSettings, store: Store, run: ArmsRun) -> str:
    """Every question that was not answered yet; why it stopped before the end, if it did."""

    @asynccontextmanager
    async def open_model(_: JudgedSituation) -> AsyncIterator[tuple[Model, Callable[[], Spent]]]:
        async with live_model(settings, store, Listener()) as (model, budget):
            assert model is not None
            assert budget is not None
            yield model, lambda: budget.report().debate

    terms = DebateTerms(_writer, Ambient(time.time, lambda: "check"), debate_limits(settings))
    for question in questions(run, settings.limits.debate_tokens or 0):
        stop = over_budget(run.answers, run.options)
        if stop and question.arm is not Arm.RULES:
            return stop
        try:
            answer = await answer_question(question, open_model, terms)
        except ArmSilentError as error:
            return f"A model could not be asked: {error} The same command goes on from here."
        run.keep(answer)
        session.narrate(
            f"{answer.situation} {answer.arm.value}: {answer.taken.kind}, {answer.tokens:,} tokens"
        )
    return ""


def questions(run: ArmsRun, usual_tokens: int) -> Iterator[ArmQuestion]:
    """What is still to be answered, a situation after the other, debates first in each.

    Looked up as it goes on: what a debate took is what its rivals may take.
    """
    for place, situation in enumerate(run.situations):
        for arm in (arm for arm in Arm if arm in run.options.arms):
            for attempt in range(attempts_of(arm, run.options.times)):
                known = {
                    answer.arm: answer
                    for answer in run.answers
                    if (answer.situation, answer.attempt) == (situation.request_id, attempt)
                }
                if arm not in known:
                    debate = known.get(Arm.DEBATE)
                    allowance = usual_tokens if debate is None else debate.tokens
                    yield ArmQuestion(arm, attempt, situation, run.situations[place - 1], allowance)


def over_budget(answers: Sequence[ArmAnswer], options: ArmsOptions) -> str:
    """Why nothing more may be asked, the dearest answer so far taken for the next one's."""
    tokens = [answer.tokens for answer in answers]
    costs = [answer.nano_usd for answer in answers]
    going_on = "Raise it, and the same command goes on from here."
    if sum(tokens) + max(tokens, default=0) > options.most_tokens:
        return f"{sum(tokens):,} of {options.most_tokens:,} tokens are used. {going_on}"
    if options.most_nano_usd is None:
        return ""
    if None in costs:
        return "The model's price is unknown, so --usd cannot be kept. Set it: [model.prices]"
    known = [cost or 0 for cost in costs]
    if sum(known) + max(known, default=0) > options.most_nano_usd:
        return f"{money(sum(known))} of {money(options.most_nano_usd)} are spent. {going_on}"
    return ""


def _writer(situation: JudgedSituation) -> RecordWriter:
    versions = running_versions(LP_FLOW.package)
    return RecordWriter(MemorySink(), situation.request_id, versions, Redactor(), flow=LP_FLOW.name)


async def _situations(
    session: Session, sources: Sources, asked: DebateCheckOptions, options: ArmsOptions
) -> tuple[list[JudgedSituation], list[SkippedRecord]]:
    """The latest that leave room for a decision, with the swaps that followed; no model needed."""
    head = await sources.client.head()
    found: list[JudgedSituation] = []
    skipped: list[SkippedRecord] = []
    rows: dict[str, tuple[int, Sequence[HourRow]]] = {}
    memory = HourMemory(sources.store, sources.network, sources.clock)
    for usable in usable_records(session, asked):
        if len(found) == asked.situations:
            break
        if isinstance(usable, SkippedRecord):
            skipped.append(usable)
            continue
        context = recorded_context(usable.record)
        assert context is not None
        reason = await _left_out(sources, usable, context, head.timestamp, options.days)
        if reason:
            skipped.append(SkippedRecord(usable.path.name, reason))
            continue
        for observed in _observed(context):
            pool = observed.pool
            known = rows.get(pool.pool_id)
            if known is None or known[0] > context.time:
                terms = FeeTerms(
                    pool.fee, unpack_protocol_fee(pool.protocol_fee), pool.tick_spacing
                )
                hours = await read_hours(
                    sources.client,
                    sources.network,
                    {pool.pool_id: terms},
                    head.timestamp - context.time,
                    memory=memory,
                    head=head,
                    watch=reading_progress(session.narrate),
                )
                rows[pool.pool_id] = (context.time, hours[pool.pool_id].rows)
        found.append(
            JudgedSituation(
                usable.record.request_id,
                debate_start(usable.record),
                context,
                RecordedEyes(usable.record),
                {
                    observed_pool.pool.pool_id: rows[observed_pool.pool.pool_id][1]
                    for observed_pool in _observed(context)
                },
                options.days,
            )
        )
    return found, skipped


async def _left_out(
    sources: Sources, usable: UsableRecord, context: ScoutContext, now: int, days: int
) -> str:
    start = debate_start(usable.record)
    if context.chain_id != sources.network.chain_id:
        return "it is of another network"
    if start.own_range is not None:
        return "a person named the range"
    if judged_hours(context.time, days).end > now:
        return f"its {days} days are not over"
    if not may_win(context):
        return "the rule lets no range win, so nothing can be decided otherwise"
    hashes = await block_hashes(sources, [context.block])
    return (
        "" if hashes.get(context.block) == context.block_hash else "its block is not on this chain"
    )


def _observed(context: ScoutContext) -> Sequence[ObservedPool]:
    return context.pools


def _models(settings: DebateSettings) -> list[str]:
    return (
        [] if settings.model is None else sorted({model.model for model in settings.model.each()})
    )


def arm_lines(report: ArmsReport, run: ArmsRun) -> Iterator[str]:
    yield from table(_COLUMNS, [_row(score) for score in report.scores])
    chosen, effect = len(run.situations), run.protocol["smallestEffectUsd"]
    could = UNKNOWN if not isinstance(effect, float) else usd(effect)
    yield (
        f"dollars for each $10,000 over {run.options.days} days, with 95% intervals; "
        f"{report.situations} of {chosen} situations finished, {report.weeks} calendar weeks; "
        f"the smallest effect that {chosen} could show: {could}"
    )
    yield f"protocol {run.sha256}"


def arm_document(report: ArmsReport, run: ArmsRun) -> Json:
    return {
        "protocol": run.sha256,
        "folder": str(run.folder),
        "chosen": len(run.situations),
        **parts(report, "situations", "weeks"),
        "smallestEffectUsd": run.protocol["smallestEffectUsd"],
        "arms": {score.arm.value: to_builtins(score) for score in report.scores},
    }


def _left_out_words(skipped: Sequence[SkippedRecord]) -> Iterator[str]:
    reasons = [record.reason for record in skipped]
    for reason in dict.fromkeys(reasons):
        yield f"Left out, {reasons.count(reason)}: {reason}."


def _remarks(report: ArmsReport, stopped: str) -> Iterator[str]:
    if not any(score.skill and score.skill.low is not None for score in report.scores):
        yield "Too few weeks for an interval: nothing can be concluded."
    if stopped:
        yield stopped


def _row(score: ArmScore) -> list[str]:
    brier = score.brier
    return [
        score.arm.value,
        _dollars(score.over_rules),
        _dollars(score.skill),
        _dollars(score.as_said),
        UNKNOWN if brier is None else f"{brier.mean:.3f}",
        _share(score.flips),
        _share(score.false_numbers),
        f"{score.questions:,}",
        f"{score.tokens:,}",
        money(score.nano_usd),
    ]


def _dollars(found: WeekInterval | None) -> str:
    if found is None:
        return UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.mean:+,.2f}"
    return f"{found.mean:+,.2f} [{found.low:,.2f}, {found.high:,.2f}]"


def _share(share: CountedShare) -> str:
    return "–" if share.part is None else f"{percent(share.part)} of {share.of}"
