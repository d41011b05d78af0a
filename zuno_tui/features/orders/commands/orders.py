"""`zuno orders [stop|go]`: what stands, what came of it, and the switch that holds it all back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.features import orders
from zuno_tui.features.orders.intents import ListOrders

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> ListOrders:
    choices: dict[str, Literal["stop", "go"]] = {"stop": "stop", "go": "go"}
    what = said.one_of(choices)
    said.end("my", "the", "standing", "list", "show")
    return ListOrders(what)


COMMAND = Command(
    does="list standing orders; 'stop' pauses them on this machine",
    group=Group.ACTING,
    intent=ListOrders,
    answer=lambda session, intent: orders.answers.list_orders(session, intent.what),
    verbs=(Verb("orders", _read, "orders [stop|go]", spoken=("standing orders", "my orders")),),
)
