"""What a replay says about a record: whether it is the one its plan names, and comes out the same.

A record's own hashes hold for whoever writes all of it anew. Its plan names the last of them, and
that is what tells a forged record; a changed program tells itself by the versions in the header.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from agents.versions import RULES, ZUNO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.replay import Record, ReplayReport


class ReplayVerdict(StrEnum):
    MATCHES = "matches"
    UNVOUCHED = "unvouched"
    """It comes out the same, and no plan here says that this is the record it was made on."""
    DIFFERS = "differs"
    ANOTHER_RECORD = "another record"
    """Not the one that its plan was made on."""
    OTHER_VERSION = "other version"
    """It does not come out the same, and other rules than these wrote it."""


@dataclass(frozen=True, slots=True)
class Judged:
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
) -> Judged:
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
    return Judged(verdict, record.last_hash, planned_hash, line, record.versions, running)


def judgment_words(judged: Judged, lines: int) -> str:
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


def _although(judged: Judged) -> str:
    if judged.same_version:
        return ""
    return f", though {version_words(judged.written_by)} wrote it"
