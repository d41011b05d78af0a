"""`zuno unwrap AMOUNT`: approve turning the wrapped token back into the chain's coin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.cli.approve import approve_wish
from zuno_tui.gate.wishes_about_wallets import wish_to_unwrap
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.cli.approve import Wishing


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_wish(session, wishing(session, arguments))


def wishing(_session: Session, arguments: Namespace) -> Wishing:
    return lambda sources: wish_to_unwrap(sources, arguments.amount)
