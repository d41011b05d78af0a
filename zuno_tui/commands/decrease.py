"""`zuno decrease ID PCT`: approve taking a part of a position out, its fees along with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID, read_percent
from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb
from zuno_tui.catalog.possible import with_positions

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class DecreasePosition(Intent, frozen=True):
    command: ClassVar = ("decrease",)
    arguments: ClassVar = (
        TOKEN_ID,
        Argument(
            "percent", "from 1 to 99; for all of it: zuno close", metavar="PCT", read=read_percent
        ),
    )

    token_id: int
    percent: int


def _order(session: Session, intent: DecreasePosition) -> OrderMaker:
    from zuno_tui.gate.orders.position import order_to_decrease

    return lambda sources: order_to_decrease(
        sources, intent.token_id, session.address, intent.percent
    )


def _read(said: Remaining) -> DecreasePosition:
    token_id = said.leading_position()
    if "to" in said.text.lower().split():
        said.refuse("whether that much is to be taken out, or to stay.")
    percent = said.percent(f"decrease {token_id} 25%")
    said.end("position", "by", "percent", "%")
    return DecreasePosition(token_id, percent)


COMMAND = Command(
    name="decrease",
    does="prepare taking a part of a position out",
    examples=("zuno decrease 26 25",),
    group=Group.POSITION,
    intent=DecreasePosition,
    order=_order,
    verbs=(
        Verb(
            "decrease",
            _read,
            "decrease ID PERCENT",
            spoken=("reduce",),
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
)
