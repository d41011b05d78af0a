"""`zuno wrap AMOUNT`: approve turning the chain's coin into its wrapped token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.commands.approve import approve_order
from zuno_tui.gate.orders.wallet import order_to_wrap
from zuno_tui.session.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.commands.approve import OrderMaker


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_order(session, make_order(session, arguments))


def make_order(_session: Session, arguments: Namespace) -> OrderMaker:
    return lambda sources: order_to_wrap(sources, arguments.amount)
