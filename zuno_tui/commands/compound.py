"""`zuno compound ID`: approve putting a position's fees back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID
from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import of_selected, with_positions

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class CompoundFees(Intent, frozen=True):
    command: ClassVar = ("compound",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


def _order(session: Session, intent: CompoundFees) -> OrderMaker:
    from zuno_tui.gate.orders.position import order_to_compound

    return lambda sources: order_to_compound(sources, intent.token_id, session.address)


def _read(said: Remaining) -> CompoundFees:
    token_id = said.position()
    said.end("position", "fees", "fee", "back", "into")
    return CompoundFees(token_id)


COMMAND = Command(
    name="compound",
    does="prepare putting a position's fees back into it",
    group=Group.POSITION,
    intent=CompoundFees,
    order=_order,
    verbs=(
        Verb(
            "compound",
            _read,
            "compound ID",
            spoken=("compound fees",),
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
    suggest=of_selected(lambda token_id: f"compound {token_id}"),
)
