"""Runs a recorded request again, with no model and no chain, and says whether it is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from pydantic import ValidationError

from agents.bus.envelope import Kind, ModelReply, Role
from agents.bus.record import (
    FORMAT,
    OLDEST_FORMAT,
    RULES,
    ZUNO,
    MemorySink,
    RecordLine,
    RecordWriter,
    check_lines,
    verify_record,
)
from agents.bus.worker import Ambient
from chain.base.clean_text import Redactor
from chain.base.errors import ZunoError


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
    format: int = FORMAT

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
    elif dict(record.versions) != dict(running) or record.format != FORMAT:
        verdict = ReplayVerdict.OTHER_VERSION
    else:
        verdict = ReplayVerdict.DIFFERS
    line = None if difference is None else difference.line
    return ReplayJudgment(
        verdict, record.last_hash, planned_hash, line, record.versions, running, record.format
    )


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
                f"{judged.planned_hash}. It was rewritten, do not rely on it."
            )
        case ReplayVerdict.OTHER_VERSION:
            vouched = (
                "The record itself is the one its plan names."
                if judged.planned_hash is not None
                else "No plan here names its last hash."
            )
            found = (
                f"The replay differs from its record{place}, as other rules would"
                if judged.format == FORMAT
                else f"The record has the older format {judged.format} and cannot be compared"
            )
            return (
                f"{found}: written by "
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


class RecordBrokenError(ZunoError):
    """A record that cannot be trusted; the message names the line."""


class Record(Struct, frozen=True):
    """A record that was read whole and whose chain holds."""

    request_id: str
    flow: str | None
    """None in the oldest format, which only one flow ever wrote."""
    format: int
    versions: Mapping[str, str]
    lines: tuple[RecordLine, ...]
    complete: bool
    last_hash: str

    def inputs(self) -> dict[str, object]:
        chosen = (line.body for line in self.lines if line.kind == "input")
        return {str(body.get("name")): body.get("value") for body in chosen}

    def fact(self, role: Role, name: str) -> object | None:
        """What this role found out last under this name."""
        found = None
        for line in self.lines:
            match line.body:
                case {"kind": Kind.AGENT_FACT, "from": sender, "payload": {"name": called}} if (
                    sender == role and called == name
                ):
                    found = line.body["payload"]["value"]  # type: ignore[index]
                case {"name": called, "value": value} if line.kind == "fact" and called == name:
                    found = value
        return found

    def messages(self) -> tuple[Mapping[str, object], ...]:
        return tuple(line.body for line in self.lines if line.kind == "envelope")

    def envelopes(self) -> tuple[bytes, ...]:
        """The canonical bytes of every envelope, for a `Registry` to open."""
        return tuple(line.wire for line in self.lines if line.kind == "envelope")

    def replies(self) -> dict[tuple[Role, int], ModelReply]:
        """What models said, by the role that asked and the number of its question."""
        found = {}
        for line in self.lines:
            match line.body:
                case {"kind": Kind.MODEL_REPLY, "from": role, "payload": dict(payload)}:
                    reply = _reply(payload)
                case {"role": role, **payload} if line.kind == "reply":
                    reply = _reply(payload)
                case _:
                    continue
            found[Role(str(role)), reply.step] = reply
        return found


def read_record(path: Path) -> Record:
    """The record at this path, or RecordBrokenError."""
    check = verify_record(path)
    if not check.ok:
        raise RecordBrokenError(
            f"{path.name} is not as it was written: line {check.broken_line}, {check.reason}."
        )
    header = check.lines[0].body
    versions, written, flow = header.get("versions"), header.get("format"), header.get("flow")
    if not isinstance(versions, dict):
        raise RecordBrokenError(f"{path.name} does not say which versions wrote it.")
    if not isinstance(written, int) or not OLDEST_FORMAT <= written <= FORMAT:
        raise RecordBrokenError(
            f"{path.name} has the format {written!r}, and this zuno reads {OLDEST_FORMAT} to "
            f"{FORMAT}. Replay it with the version that wrote it."
        )
    return Record(
        request_id=str(header.get("requestId")),
        flow=None if written == OLDEST_FORMAT else str(flow),
        format=written,
        versions={str(name): str(version) for name, version in versions.items()},
        lines=check.lines,
        complete=check.complete,
        last_hash=check.last_hash,
    )


class RecordedTurns:
    """Lets every role speak in the order of the record, and gives each message its time there.

    Agents who worked at once took turns by chance. A replay repeats the turns, so that each of them
    hears the others in the same order, and every line comes out where it was.
    """

    def __init__(self, record: Record, *, patience: float = 5.0) -> None:
        lines = _before_failure(record.lines)
        said = [line.body for line in lines if line.kind == "envelope"]
        self._turns = [(body.get("from"), _stamp(body.get("ts"))) for body in said]
        self._next = 0
        self._patience = patience
        # In an older format less was said aloud: its turns are no guide.
        self._kept = record.format == FORMAT
        self._moved = asyncio.Event()

    async def turn(self, role: Role) -> None:
        while self._kept and self._next < len(self._turns) and self._turns[self._next][0] != role:
            moved = self._moved
            try:
                await asyncio.wait_for(moved.wait(), self._patience)
            except TimeoutError:
                if moved is self._moved:
                    # Whose turn it is has nothing to say: this is not what was recorded.
                    self._kept = False

    def clock(self) -> float:
        if not self._turns:
            return 0.0
        # A run that says more than was recorded differs already; the last time will do for it.
        _, stamp = self._turns[min(self._next, len(self._turns) - 1)]
        self._next += 1
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
        return stamp / 1000


class ReplayDifference(Struct, frozen=True):
    line: int
    """Counted from 1."""
    recorded: RecordLine | None
    replayed: RecordLine | None


class ReplayReport(Struct, frozen=True):
    compared: int
    difference: ReplayDifference | None
    last_hash: str = ""
    """Of the record that the replay wrote: the recorded one's own where every byte is the same."""

    @property
    def matches(self) -> bool:
        return self.difference is None


async def replay(
    record: Record, rerun: Callable[[RecordWriter, Ambient], Awaitable[None]]
) -> ReplayReport:
    """Let `rerun` run the request as it was run, writing a new record, and compare the two.

    It takes inputs, facts and model replies from the record, and time and turns from the `Ambient`.
    """
    sink = MemorySink()
    writer = RecordWriter(
        sink, record.request_id, record.versions, Redactor(), flow=record.flow or ""
    )
    turns = RecordedTurns(record)
    await rerun(writer, Ambient(turns.clock, lambda: record.request_id, turn=turns.turn))
    if record.complete:
        writer.close()
    replayed = check_lines(sink.lines).lines
    last_hash = writer.last_hash
    recorded = _before_failure(record.lines)
    if len(recorded) < len(record.lines):
        # What ended it lay outside: time, a lost message, a chain that did not answer.
        replayed = replayed[: len(recorded)]
    return ReplayReport(len(recorded), _first_difference(recorded, replayed), last_hash)


def _before_failure(lines: tuple[RecordLine, ...]) -> tuple[RecordLine, ...]:
    """All lines, or those up to the failure in which the flow ended."""
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


def _reply(payload: Mapping[str, object]) -> ModelReply:
    try:
        return ModelReply.model_validate(payload)
    except ValidationError as error:
        raise RecordBrokenError("A model's reply in the record cannot be read.") from error


def _stamp(value: object) -> int:
    return value if isinstance(value, int) else 0
