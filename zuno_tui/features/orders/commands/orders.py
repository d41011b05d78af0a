"""`zuno orders [stop|go|first|standby]`: what stands, what came of it, who carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.features import orders
from zuno_tui.features.orders.intents import ListOrders, OrdersSwitch

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> ListOrders:
    choices: dict[str, OrdersSwitch] = {
        "stop": "stop",
        "go": "go",
        "first": "first",
        "standby": "standby",
    }
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
