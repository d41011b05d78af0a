"""`zuno decrease ID PCT`: approve taking a part of a position out, its fees along with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.commands.approve import approve_order
from zuno_tui.gate.orders.position import order_to_decrease
from zuno_tui.session.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.commands.approve import OrderMaker


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_order(session, make_order(session, arguments))


def make_order(session: Session, arguments: Namespace) -> OrderMaker:
    token_id, part = arguments.token_id, arguments.percent
    return lambda sources: order_to_decrease(sources, token_id, session.address, part)
