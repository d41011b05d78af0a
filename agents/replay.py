"""Runs a recorded request again, with no model and no chain, and says whether it is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.envelope import Kind
from agents.record import Line, MemorySink, ModelReply, RecordWriter, check_lines, verify_record
from agents.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path


class RecordBrokenError(Exception):
    """A record that cannot be trusted; the message names the line."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read whole and whose chain holds."""

    request_id: str
    versions: Mapping[str, str]
    lines: tuple[Line, ...]
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


@dataclass(frozen=True, slots=True)
class Difference:
    line: int
    """Counted from 1."""
    recorded: Line | None
    replayed: Line | None


@dataclass(frozen=True, slots=True)
class ReplayReport:
    compared: int
    difference: Difference | None

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


def _before_failure(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """All lines, or those up to the failure in which the debate ended."""
    for index, line in enumerate(lines):
        if line.kind == "envelope" and line.body.get("kind") == Kind.FLOW_FAILED:
            return lines[:index]
    return lines


def _first_difference(recorded: Sequence[Line], replayed: Sequence[Line]) -> Difference | None:
    for index in range(max(len(recorded), len(replayed))):
        ours = recorded[index] if index < len(recorded) else None
        theirs = replayed[index] if index < len(replayed) else None
        if ours is None or theirs is None or ours.kind != theirs.kind or ours.wire != theirs.wire:
            return Difference(index + 1, ours, theirs)
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
