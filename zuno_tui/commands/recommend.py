"""`zuno recommend ID`: four agents argue about a position; the outcome is a plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.intents import Recommend

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


# "stay long", "keep my ETH until 1 March", "I need the ETH by March".
_GOAL = re.compile(
    r"\b(?:(?:stay|staying|remain|be) (?P<long>long)(?: (?:in|on))?(?: (?P<held>[a-z][\w.]{1,23}))?"
    r"|(?:keep|keeping|need|have|hold on to|without selling|(?:not|don'?t|never) (?:want to )?sell)"
    r"(?: (?:the|my|any|all|to|of|have|keep))* (?P<token>[a-z][\w.]{1,23}))"
    r"(?:,? (?:by|until|till|before) (?P<day>[\w ,-]+))?$",
    re.ASCII | re.IGNORECASE,
)


def _read(said: Remaining) -> Recommend:
    if goal := _GOAL.search(said.text):
        asked = _read(said.restart(said.text[: goal.start()]))
        named = goal["token"] or goal["held"] or goal["long"]
        return replace(asked, keep=named, until=goal["day"])
    profile = said.profile()
    ref = said.position()
    said.end(
        *("rebalance", "rebalancing", "rebalances", "position", "with", "do", "i", "range"),
        *("if", "want", "to", "so", "that", "because", "since", "must", "will", "but", "do", "and"),
    )
    return Recommend(ref, profile)


COMMAND = Command(
    does="ask the agents what to do with a position",
    examples=(
        "zuno recommend 26 --stream",
        "zuno recommend 26 --profile conservative",
        "zuno recommend 26 --keep ETH --until March",
    ),
    group=Group.ADVICE,
    intent=Recommend,
    run=lambda arguments: app.debate.run_recommend(arguments),
    verbs=(
        Verb(
            "recommend",
            _read,
            "recommend ID [conservative|balanced|aggressive] [keep ETH until March]",
            spoken=(
                *("recommend rebalance", "rebalance", "suggest", "advise", "argue about"),
                *("what should i do with", "what should i do about", "what about"),
            ),
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(Recommend),
    key="desk.recommend",
)
