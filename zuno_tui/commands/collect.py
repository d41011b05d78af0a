"""`zuno collect ID`: approve taking a position's fees out, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID
from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import of_selected, with_positions

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class CollectFees(Intent, frozen=True):
    command: ClassVar = ("collect",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


def _order(session: Session, intent: CollectFees) -> OrderMaker:
    from zuno_tui.gate.orders.position import order_to_collect

    return lambda sources: order_to_collect(sources, intent.token_id, session.address)


def _read(said: Remaining) -> CollectFees:
    token_id = said.position()
    said.end("position", "fees", "fee", "from")
    return CollectFees(token_id)


COMMAND = Command(
    name="collect",
    does="prepare taking a position's fees out",
    group=Group.POSITION,
    intent=CollectFees,
    order=_order,
    verbs=(
        Verb(
            "collect",
            _read,
            "collect ID",
            spoken=("collect fees", "claim", "claim fees"),
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
    suggest=of_selected(lambda token_id: f"collect {token_id}"),
    key="desk.collect",
)
