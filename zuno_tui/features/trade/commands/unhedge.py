"""`zuno unhedge ID|all [PERCENT]`: close a hedge, whether its position still stands or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, of_selected
from zuno_tui.features import trade
from zuno_tui.features.trade.commands.hedge import read_subject
from zuno_tui.features.trade.intents import Unhedge, read_share

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_PART = re.compile(r"[0-9]{1,3}(?:\.[0-9]+)?%|half|quarter", re.IGNORECASE)


def _read(said: Remaining) -> Unhedge:
    part = said.take_matching(_PART)
    subject = read_subject(said)
    said.end("hedge", "hedges", "position", "of", "the", "my", "for", "on")
    return Unhedge(subject, None if part is None else round(read_share(part) * 100))


COMMAND = Command(
    does="close a hedge, or a part of it",
    group=Group.TRADING,
    intent=Unhedge,
    answer=lambda session, intent: trade.unhedging.unhedge_answer(
        session, intent.ref, intent.percent
    ),
    verbs=(
        Verb(
            "unhedge",
            _read,
            "unhedge ID|all [50%]",
            spoken=(
                *("close hedge", "close the hedge", "close my hedge", "close hedges"),
                *("drop the hedge", "drop hedge", "remove the hedge", "remove hedge"),
                *("lift the hedge", "end the hedge", "buy back the hedge"),
                *("take off the hedge", "flatten"),
            ),
            names="positions",
        ),
    ),
    suggest=of_selected(Unhedge, on=("v4",)),
    only_on=("v4",),
)
