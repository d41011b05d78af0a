"""Runs a recorded request again, with no model and no chain, and says whether it is the same."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.envelope import Kind
from agents.bus.record import (
    RULES,
    ZUNO,
    MemorySink,
    ModelReply,
    RecordLine,
    RecordWriter,
    check_lines,
    verify_record,
)
from chain.base.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path


class ReplayVerdict(StrEnum):
    MATCHES = "matches"
    UNVOUCHED = "unvouched"
    """It comes out the same, and no plan here says that this is the record it was made on."""
    DIFFERS = "differs"
    ANOTHER_RECORD = "another record"
    """Not the one that its plan was made on."""
    OTHER_VERSION = "other version"
    """It does not come out the same, and other rules than these wrote it."""


class ReplayJudgment(Struct, frozen=True):
    verdict: ReplayVerdict
    last_hash: str
    planned_hash: str | None
    """The last hash as the record's plan names it; None where no plan here does."""
    line: int | None
    """The first that differs, counted from 1; None where none does, or none could be replayed."""
    written_by: Mapping[str, str]
    running: Mapping[str, str]

    @property
    def holds(self) -> bool:
        return self.verdict in (ReplayVerdict.MATCHES, ReplayVerdict.UNVOUCHED)

    @property
    def same_version(self) -> bool:
        return dict(self.written_by) == dict(self.running)


def judge_replay(
    record: Record,
    report: ReplayReport | None,
    planned_hash: str | None,
    running: Mapping[str, str],
) -> ReplayJudgment:
    """By the plan's hash first: what a forged record replays to means nothing."""
    difference = None if report is None else report.difference
    if planned_hash is not None and planned_hash != record.last_hash:
        verdict = ReplayVerdict.ANOTHER_RECORD
    elif report is not None and report.matches:
        verdict = ReplayVerdict.UNVOUCHED if planned_hash is None else ReplayVerdict.MATCHES
    elif dict(record.versions) != dict(running):
        verdict = ReplayVerdict.OTHER_VERSION
    else:
        verdict = ReplayVerdict.DIFFERS
    line = None if difference is None else difference.line
    return ReplayJudgment(verdict, record.last_hash, planned_hash, line, record.versions, running)


def judgment_words(judged: ReplayJudgment, lines: int) -> str:
    """The verdict in a sentence or two, with what to do about it."""
    place = "" if judged.line is None else f", from line {judged.line} on"
    match judged.verdict:
        case ReplayVerdict.MATCHES:
            return (
                f"The replay matches its record, all {lines} lines, and it is the record that its "
                f"plan names{_although(judged)}."
            )
        case ReplayVerdict.UNVOUCHED:
            return (
                f"The replay matches its record, all {lines} lines{_although(judged)}. No plan "
                "here names this record's last hash, so compare it with one you noted."
            )
        case ReplayVerdict.DIFFERS:
            return f"The replay differs from its record{place}: it was changed, do not rely on it."
        case ReplayVerdict.ANOTHER_RECORD:
            return (
                "This is not the record its plan was made on: the plan names the last hash "
                f"{judged.planned_hash}. It was written anew, do not rely on it."
            )
        case ReplayVerdict.OTHER_VERSION:
            vouched = (
                "The record itself is the one its plan names."
                if judged.planned_hash is not None
                else "No plan here names its last hash."
            )
            return (
                f"The replay differs from its record{place}, as other rules would: written by "
                f"{version_words(judged.written_by)}, this is {version_words(judged.running)}. "
                f"{vouched} Replay it with the version that wrote it."
            )


def version_words(versions: Mapping[str, str]) -> str:
    """A release and its rules, in as many words as the record has."""
    release = versions.get(ZUNO, "unknown")
    rules = versions.get(RULES)
    return f"zuno {release}" if rules is None else f"zuno {release} with rules {rules}"


def _although(judged: ReplayJudgment) -> str:
    if judged.same_version:
        return ""
    return f", though {version_words(judged.written_by)} wrote it"


class RecordBrokenError(Exception):
    """A record that cannot be trusted; the message names the line."""


class Record(Struct, frozen=True):
    """A record that was read whole and whose chain holds."""

    request_id: str
    versions: Mapping[str, str]
    lines: tuple[RecordLine, ...]
    complete: bool
    last_hash: str

    def inputs(self) -> dict[str, object]:
        return self._named("input")

    def facts(self) -> dict[str, object]:
        return self._named("fact")

    def envelopes(self) -> tuple[bytes, ...]:
        """The canonical bytes of every envelope, for a `Registry` to open."""
        return tuple(line.wire for line in self.lines if line.kind == "envelope")

    def replies(self) -> tuple[ModelReply, ...]:
        return tuple(_reply(line.body) for line in self.lines if line.kind == "reply")

    def _named(self, kind: str) -> dict[str, object]:
        chosen = (line.body for line in self.lines if line.kind == kind)
        return {str(body.get("name")): body.get("value") for body in chosen}


def read_record(path: Path) -> Record:
    """The record at this path, or RecordBrokenError."""
    check = verify_record(path)
    if not check.ok:
        raise RecordBrokenError(
            f"{path.name} is not as it was written: line {check.broken_line}, {check.reason}."
        )
    header = check.lines[0].body
    versions = header.get("versions")
    if not isinstance(versions, dict):
        raise RecordBrokenError(f"{path.name} does not say which versions wrote it.")
    return Record(
        request_id=str(header.get("requestId")),
        versions={str(name): str(version) for name, version in versions.items()},
        lines=check.lines,
        complete=check.complete,
        last_hash=check.last_hash,
    )


class ReplayClock:
    """Tells each envelope the time it was sent at when it was recorded."""

    def __init__(self, record: Record) -> None:
        stamps = [line.body.get("ts") for line in record.lines if line.kind == "envelope"]
        self._stamps = [stamp for stamp in stamps if isinstance(stamp, int)]
        self._asked = 0

    def __call__(self) -> float:
        if not self._stamps:
            return 0.0
        # A run that says more than was recorded differs already; the last time will do for it.
        stamp = self._stamps[min(self._asked, len(self._stamps) - 1)]
        self._asked += 1
        return stamp / 1000


class ReplayDifference(Struct, frozen=True):
    line: int
    """Counted from 1."""
    recorded: RecordLine | None
    replayed: RecordLine | None


class ReplayReport(Struct, frozen=True):
    compared: int
    difference: ReplayDifference | None

    @property
    def matches(self) -> bool:
        return self.difference is None


async def replay(
    record: Record, rerun: Callable[[RecordWriter, ReplayClock], Awaitable[None]]
) -> ReplayReport:
    """Let `rerun` run the request as it was run, writing a new record, and compare the two.

    It takes inputs and model replies from the record, and time from the clock it is given.
    """
    sink = MemorySink()
    writer = RecordWriter(sink, record.request_id, record.versions, Redactor())
    await rerun(writer, ReplayClock(record))
    if record.complete:
        writer.close()
    replayed = check_lines(sink.lines).lines
    recorded = _before_failure(record.lines)
    if len(recorded) < len(record.lines):
        # What ended it lay outside: time, a lost message, a chain that did not answer.
        replayed = replayed[: len(recorded)]
    return ReplayReport(len(recorded), _first_difference(recorded, replayed))


def _before_failure(lines: tuple[RecordLine, ...]) -> tuple[RecordLine, ...]:
    """All lines, or those up to the failure in which the debate ended."""
    for index, line in enumerate(lines):
        if line.kind == "envelope" and line.body.get("kind") == Kind.FLOW_FAILED:
            return lines[:index]
    return lines


def _first_difference(
    recorded: Sequence[RecordLine], replayed: Sequence[RecordLine]
) -> ReplayDifference | None:
    for index in range(max(len(recorded), len(replayed))):
        ours = recorded[index] if index < len(recorded) else None
        theirs = replayed[index] if index < len(replayed) else None
        if ours is None or theirs is None or ours.kind != theirs.kind or ours.wire != theirs.wire:
            return ReplayDifference(index + 1, ours, theirs)
    return None


def _reply(body: Mapping[str, object]) -> ModelReply:
    tokens_in, tokens_out, step = body.get("tokensIn"), body.get("tokensOut"), body.get("step")
    if (
        not isinstance(step, int)
        or not isinstance(tokens_in, int)
        or not isinstance(tokens_out, int)
    ):
        raise RecordBrokenError("A model's reply in the record has no step or token count.")
    return ModelReply(
        role=str(body.get("role")),
        step=step,
        prompt=str(body.get("prompt")),
        model=_text(body.get("model")),
        raw=_text(body.get("raw")),
        unavailable=_text(body.get("unavailable")),
        sentence=_text(body.get("sentence")),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        estimated=body.get("estimated") is True,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
