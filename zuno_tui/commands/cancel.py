"""`cancel`: end the work that is under way at the desk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Cancel

if TYPE_CHECKING:
    from zuno_tui.prompt.context import PhraseContext
    from zuno_tui.prompt.remaining import Remaining


def _read(said: Remaining) -> Cancel:
    job = said.one_of({"debate": "debate", "replay": "replay"})
    said.points()
    said.end("work", "job")
    return Cancel(job)


def _suggest(context: PhraseContext) -> Iterator[Cancel]:
    if context.cancellable:
        yield Cancel()


COMMAND = Command(
    name="cancel",
    does="end the work that is under way",
    group=Group.DESK,
    intent=Cancel,
    on_command_line=False,
    verbs=(Verb("cancel", _read, spoken=("stop", "abort")),),
    suggest=_suggest,
    key="desk.cancel",
)
