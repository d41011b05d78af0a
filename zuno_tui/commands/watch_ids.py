"""`zuno watch-ids ID…`: positions of the wallet, named where an endpoint cannot find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, with_positions
from zuno_tui.intents.intent import Argument, Intent, read_ref

if TYPE_CHECKING:
    from chain.protocols.reference import PositionRef
    from zuno_tui.intents.remaining import Remaining


class WatchIds(Intent, frozen=True):
    command: ClassVar = ("watch-ids",)
    arguments: ClassVar = (
        Argument("refs", "positions, by number", metavar="ID", read=read_ref, several=True),
    )

    refs: tuple[PositionRef, ...]


def _read(said: Remaining) -> WatchIds:
    refs = said.positions()
    said.end("position", "positions", "only", "just")
    return WatchIds(refs)


COMMAND = Command(
    does="add positions by number that your endpoint cannot find",
    group=Group.POSITIONS,
    intent=WatchIds,
    answer=lambda session, intent: app.inspect.remember_ids(session, intent.refs),
    only_on=("v4",),
    verbs=(
        Verb(
            "watch-ids",
            _read,
            "watch-ids ID…",
            spoken=("watch ids",),
            names="positions",
            possible=with_positions,
        ),
    ),
)
