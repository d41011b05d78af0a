"""`zuno migrate ID`: a plan that takes a position into another protocol's pool of its pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.intent import write_ref
from zuno_tui.intents.intents import MigratePosition

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> MigratePosition:
    from zuno_tui.prompt.into_phrase import read_into

    ref = said.leading_position()
    words = tuple(word for word in said.text.lower().split() if word not in ("to", "into", "in"))
    # What is no place to go to is said before anything is read.
    read_into(words)
    return MigratePosition(ref, words)


COMMAND = Command(
    does="plan to move a v3 position into v4, or the other way",
    examples=("zuno migrate 3:4", "zuno migrate 3:4 to v4 0.3%"),
    group=Group.ACTING,
    intent=MigratePosition,
    run=lambda arguments: app.debate.run_migrate(arguments),
    verbs=(
        Verb(
            "migrate",
            _read,
            "migrate ID [to v4] [FEE]",
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(lambda ref: f"migrate {write_ref(ref)}", on=("v3",)),
)
