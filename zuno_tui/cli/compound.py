"""`zuno compound ID`: approve putting a position's fees back into its range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.cli.approve import approve_wish
from zuno_tui.gate.wishes_about_positions import wish_to_compound
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.cli.approve import Wishing


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_wish(session, wishing(session, arguments))


def wishing(session: Session, arguments: Namespace) -> Wishing:
    return lambda sources: wish_to_compound(sources, arguments.token_id, session.address)
