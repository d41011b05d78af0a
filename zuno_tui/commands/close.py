"""`zuno close ID`: approve leaving a position, without asking anybody's opinion."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID
from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import of_selected, with_positions

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class ClosePosition(Intent, frozen=True):
    command: ClassVar = ("close",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


def _order(session: Session, intent: ClosePosition) -> OrderMaker:
    from zuno_tui.gate.orders.position import order_to_close

    return lambda sources: order_to_close(sources, intent.token_id, session.address)


def _read(said: Remaining) -> ClosePosition:
    token_id = said.position()
    said.end("position", "from", "out")
    return ClosePosition(token_id)


COMMAND = Command(
    name="close",
    does="prepare leaving a position",
    group=Group.POSITION,
    intent=ClosePosition,
    order=_order,
    verbs=(
        Verb(
            "close",
            _read,
            "close ID",
            spoken=("close position", "withdraw"),
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
    suggest=of_selected(lambda token_id: f"close {token_id}"),
)
