"""A debate in lines of text: who spoke, in which round, and which numbers were struck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.model.claims import ClaimFlag, FlagKind, without_ids

if TYPE_CHECKING:
    from agents.payloads import Thought

_ROLE_WIDTH = 10
_STRUCK = {
    FlagKind.MISMATCH: "✗not the number given",
    FlagKind.UNKNOWN: "✗no such number",
    FlagKind.UNCITED: "✗uncited",
}


def turn_line(role: str, thought: Thought) -> str:
    round_mark = f"{thought.round}" if thought.round else " "
    return f"{role:<{_ROLE_WIDTH}} {round_mark} ▸ {readable(thought)}"


def readable(thought: Thought) -> str:
    """The words without their ids, a struck number followed by why it is."""
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    text, moved = without_ids(thought.text, flags)
    for flag in sorted(moved, key=lambda flag: flag.start, reverse=True):
        text = f"{text[: flag.end]} [{_STRUCK[flag.kind]}]{text[flag.end :]}"
    return text
