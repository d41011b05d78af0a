"""`zuno pools`: the pools between the network's known tokens, those that paid the most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, always
from zuno_tui.intents.intents import ListPools

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> ListPools:
    token = said.symbol("pools WETH").upper() if said and said.text.lower() != "all" else None
    said.end("all")
    return ListPools(token)


COMMAND = Command(
    does="compare pools: fees, depth, risk",
    group=Group.POSITIONS,
    intent=ListPools,
    answer=lambda session, intent: app.pools.surveyed_pools(session, intent),
    tells_old_block=True,
    verbs=(Verb("pools", _read, "pools [SYMBOL]", spoken=("show pools", "list pools")),),
    suggest=always(ListPools()),
)
