"""`zuno recommend ID`: four agents argue about a position; the outcome is a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Recommend
from zuno_tui.catalog.possible import of_selected, with_positions

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.prompt.remaining import Remaining


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.debate import run_recommend

    return run_recommend(arguments)


def _read(said: Remaining) -> Recommend:
    profile = said.profile()
    token_id = said.position()
    said.end("rebalance", "rebalancing", "rebalances", "position", "with", "do", "i", "range")
    return Recommend(token_id, profile)


COMMAND = Command(
    name="recommend",
    does="let the four agents argue about a position",
    examples=(
        "zuno recommend 26 --stream",
        "zuno recommend 26 --profile conservative",
    ),
    group=Group.POSITION,
    intent=Recommend,
    run=_run,
    verbs=(
        Verb(
            "recommend",
            _read,
            "recommend ID [conservative|balanced|aggressive]",
            spoken=(
                "recommend rebalance",
                "rebalance",
                "suggest",
                "advise",
                "argue about",
                "what should i do with",
                "what should i do about",
                "what about",
            ),
            names="positions",
            possible=with_positions,
        ),
    ),
    suggest=of_selected(Recommend),
    key="desk.recommend",
)
