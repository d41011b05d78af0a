"""What a record is about, from its ends alone: a list of many must not read each one through.

Nothing here is verified. Whether a record holds is told when it is replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from agents.envelope import Kind
from chain.clean_text import clean_text
from chain.rpc import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_HEAD_LINES = 4
_HEAD_BYTES = 16_384
_TAIL_BYTES = (65_536, 1 << 20)
"""How much of the end is read; more where the plan's line is longer than that."""

UNKNOWN, UNFINISHED, A_NEW_POSITION = "unknown", "unfinished", "a new position"


@dataclass(frozen=True, slots=True)
class RecordSummary:
    subject: str
    outcome: str


def summarise(path: Path) -> RecordSummary:
    size = path.stat().st_size
    with path.open("rb") as file:
        subject = _subject(islice(_bodies(file.read(_HEAD_BYTES).split(b"\n")), _HEAD_LINES))
        outcome = UNFINISHED
        for length in _TAIL_BYTES:
            file.seek(max(0, size - length))
            lines = file.read(length).split(b"\n")
            # The first line of a tail is most likely the rest of one.
            whole = lines if size <= length else lines[1:]
            found = _outcome(_bodies(reversed(whole)))
            if found is not None or size <= length:
                outcome = found or UNFINISHED
                break
    return RecordSummary(subject, outcome)


def _subject(bodies: Iterator[Mapping[str, object]]) -> str:
    for body in bodies:
        match body:
            case {"name": "start", "value": {"tokenId": str(token_id)}} if token_id.isdigit():
                return f"position #{token_id}"
            case {"name": "start", "value": {"goal": _}}:
                return A_NEW_POSITION
    return UNKNOWN


def _outcome(bodies: Iterator[Mapping[str, object]]) -> str | None:
    for body in bodies:
        match body:
            case {"kind": Kind.PLAN_READY, "payload": {"plan": {"choice": {"kind": str(kind)}}}}:
                return clean_text(kind)
            case {"kind": Kind.FLOW_FAILED, "payload": {"reason": str(reason)}}:
                return f"failed: {clean_text(reason)}"
    return None


def _bodies(lines: Iterator[bytes] | list[bytes]) -> Iterator[Mapping[str, object]]:
    """Of those lines that can be read; a cut or damaged one is passed over."""
    for line in lines:
        try:
            value = strict_json.loads(line)
        except strict_json.InvalidJsonError:
            continue
        body = value.get("body") if isinstance(value, dict) else None
        if isinstance(body, dict):
            yield body
