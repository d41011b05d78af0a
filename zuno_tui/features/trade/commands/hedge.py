"""`zuno hedge ID|all`: sell short what a position holds of a coin, or a share of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.features import trade
from zuno_tui.features.trade.commands.trade import EMERGENCIES
from zuno_tui.features.trade.intents import NEUTRAL, Hedge, read_share
from zuno_tui.intents.intent import PositionName

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_SHARE = re.compile(r"[0-9]{1,3}(?:\.[0-9]+)?%|0?\.[0-9]+|neutral|full|half|quarter", re.IGNORECASE)
_ALL: dict[str, PositionName] = dict.fromkeys(("all", "everything", "them"), "all")


def read_subject(said: Remaining) -> PositionName:
    """All of them where that is said, else a position."""
    return said.one_of(_ALL) or said.position()


def _read(said: Remaining) -> Hedge:
    emergency, share = said.one_of(EMERGENCIES), said.take_matching(_SHARE)
    subject = read_subject(said)
    said.end(
        "position", "positions", "delta", "of", "the", "my", "against", "from", "a", "fall",
        "losses", "at", "to",
    )  # fmt: skip
    target = NEUTRAL if share is None else read_share(share)
    return Hedge(subject, target, emergency=bool(emergency))


COMMAND = Command(
    does="sell a position's coins short, so that price matters less",
    group=Group.TRADING,
    intent=Hedge,
    answer=lambda session, intent: trade.trade.answer_hedge(session, intent),
    verbs=(
        Verb(
            "hedge",
            _read,
            "hedge ID|all [25%]",
            spoken=("should i hedge", "how much should i hedge of", "protect"),
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(Hedge, on=("v4",)),
    only_on=("v4",),
)
