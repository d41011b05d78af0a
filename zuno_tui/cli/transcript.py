"""A debate in lines of text: who spoke, in which round, and which numbers were struck."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from agents.model.claims import ClaimFlag, FlagKind, without_ids

if TYPE_CHECKING:
    from agents.payloads import Thought

_ROLE_WIDTH = 10
_NARROWEST = 40
_STRUCK = {
    FlagKind.MISMATCH: "✗not the number given",
    FlagKind.UNKNOWN: "✗no such number",
    FlagKind.UNCITED: "✗uncited",
}


def turn_line(role: str, thought: Thought) -> str:
    """One turn, wrapped under itself where the lines have an end."""
    round_mark = f"{thought.round}" if thought.round else " "
    head = f"{role:<{_ROLE_WIDTH}} {round_mark} ▸ "
    return wrapped(head + readable(thought), indent=len(head))


def wrapped(text: str, *, indent: int) -> str:
    """Text broken to the width of the terminal; whole when there is none to see it."""
    if not sys.stderr.isatty() and "COLUMNS" not in os.environ:
        return text
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def readable(thought: Thought) -> str:
    """The words without their ids, a struck number followed by why it is."""
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    text, moved = without_ids(thought.text, flags)
    for flag in sorted(moved, key=lambda flag: flag.start, reverse=True):
        text = f"{text[: flag.end]} [{_STRUCK[flag.kind]}]{text[flag.end :]}"
    return text
