"""A debate in lines of text: who spoke, in which round, and which numbers were struck."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.lp.advice_words import option_letter
from agents.model.claims import ClaimFlag, FlagKind, without_ids
from zuno_tui.present.output import cell_width, table_lines
from zuno_tui.present.terminal import line_width
from zuno_tui.present.words import role_title, screen_words

if TYPE_CHECKING:
    from agents.bus.envelope import Role, SpokenTable, Thought
    from agents.bus.run import ArgumentEnd, SpokenTurn
    from agents.lp.plan import Plan

_ROLE_WIDTH = 10
_TABLE_INDENT = 2
WHY_STRUCK = {
    FlagKind.MISMATCH: "not the number given",
    FlagKind.UNKNOWN: "no such number",
    FlagKind.UNCITED: "uncited",
    FlagKind.NOT_SO: "the table says otherwise",
}


def turn_line(role: str, thought: Thought) -> str:
    """One turn, wrapped under itself where the lines have an end."""
    head = _head(role, thought.round)
    mark = BY_MODEL if thought.by_model else ""
    words = wrap_text(f"{head}{mark}{readable(thought)}", indent=len(head))
    return "\n".join((words, *_table(thought, len(head))))


BY_MODEL = "model: "
"""Before a model's own words: what has no mark was said by code."""


def wrap_text(text: str, *, indent: int) -> str:
    """Text broken to the width of the terminal; whole when there is none to see it."""
    width = line_width()
    if width is None:
        return text
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def _table(thought: Thought, indent: int) -> list[str]:
    """Under the words, and as far in where it fits there."""
    if thought.table is None:
        return []
    width, spoken = line_width(), screen_table(thought.table)
    for far in (indent, _TABLE_INDENT):
        lines = table_lines(spoken, None if width is None else width - far)
        if width is None or all(cell_width(line) + far <= width for line in lines):
            return [" " * far + line for line in lines]
    return [wrap_text(" " * _TABLE_INDENT + line, indent=2 * _TABLE_INDENT) for line in lines]


def readable(thought: Thought) -> str:
    """The words without their ids, a struck number followed by why it is."""
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    text, moved = flagged_screen_words(*without_ids(thought.text, flags))
    for flag in sorted(moved, key=lambda flag: flag.start, reverse=True):
        text = f"{text[: flag.end]} [✗{WHY_STRUCK[flag.kind]}]{text[flag.end :]}"
    return text


def flagged_screen_words(
    text: str, flags: tuple[ClaimFlag, ...]
) -> tuple[str, tuple[ClaimFlag, ...]]:
    """As the screen says it; what is struck stays as it was said, and is found at its new place."""
    words, moved, since = "", [], 0
    for flag in sorted(flags, key=lambda flag: flag.start):
        words += screen_words(text[since : flag.start])
        moved.append(replace(flag, start=len(words), end=len(words) + flag.end - flag.start))
        words, since = words + text[flag.start : flag.end], flag.end
    return words + screen_words(text[since:]), tuple(moved)


def screen_table(table: SpokenTable) -> SpokenTable:
    rows = (
        row.model_copy(
            update={
                "name": screen_words(row.name),
                "cells": tuple(
                    cell.model_copy(update={"text": screen_words(cell.text)}) for cell in row.cells
                ),
            }
        )
        for row in table.rows
    )
    columns = tuple(map(screen_words, table.columns))
    return table.model_copy(update={"columns": columns, "rows": tuple(rows)})


_UNFINISHED = re.compile(r"\b[A-Z]*\Z")
"""What may still become HOLD or EXIT."""


class LiveTranscript:
    """The debate on stderr while it runs: a model's words as they are written, then the rest."""

    def __init__(self) -> None:
        self._speaking: Role | None = None
        self._words = ""
        self._unfinished = ""
        self._thinking: Role | None = None

    def on_prose(self, role: Role, text: str) -> None:
        if not sys.stderr.isatty():
            return  # a pipe or a file gets each statement once, checked
        if self._speaking != role:
            self._end_line()
            sys.stderr.write(_head(role, 0) + BY_MODEL)
            self._speaking = role
        self._words += text
        self._write(text)

    def _write(self, text: str) -> None:
        words, self._unfinished = self._unfinished + text, ""
        if (cut := _UNFINISHED.search(words)) is not None:
            words, self._unfinished = words[: cut.start()], words[cut.start() :]
        sys.stderr.write(screen_words(words))
        sys.stderr.flush()

    def on_thinking(self, role: Role, _seconds: float) -> None:
        if self._thinking != role:
            self._thinking = role
            sys.stderr.write(f"{_head(role, 0)}thinking …\n")
            sys.stderr.flush()

    def on_turn(self, turn: SpokenTurn) -> None:
        streamed = self._speaking == turn.role and self._words == turn.thought.text
        self._end_line()
        self._thinking = None
        # What was just read as it was written is not printed again; what was struck in it is.
        if not streamed or turn.thought.struck:
            sys.stderr.write(turn_line(turn.role, turn.thought) + "\n")
        else:
            sys.stderr.write("".join(f"{line}\n" for line in _table(turn.thought, _ROLE_WIDTH)))
        sys.stderr.flush()

    def _end_line(self) -> None:
        if self._speaking is not None:
            self._write("\n")
            self._speaking, self._words = None, ""


def _head(role: str, round_number: int) -> str:
    return f"{role_title(role):<{_ROLE_WIDTH}} {round_number or ' '} ▸ "


def describe_end(ended: ArgumentEnd[Plan]) -> str:
    """How the debate ended, in a sentence."""
    if ended.plan is not None:
        choice = ended.plan.choice
        kept = "Keep" if choice.kind == "hold" else "Close"
        what = kept if choice.index is None else f"option {option_letter(choice.index)}"
        return f"{what[0].upper()}{what[1:]} is the plan, {ended.plan.plan_id}."
    if ended.failure is None:
        return "It ended without a plan."
    return f"It ended at {ended.failure.stage}: {ended.failure.reason}"
