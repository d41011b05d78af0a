"""A command that answers or orders something, run on the command line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zuno_tui.app.session import Session
from zuno_tui.present.answer import print_answer

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.catalog.command import Command


def run_in_session(command: Command, parsed: Namespace) -> int:
    session = Session.start(parsed)
    asked = command.intent.from_namespace(parsed)
    make_order = None if command.order is None else command.order(session, asked)
    if make_order is not None:
        from zuno_tui.app.approve import approve_order

        return print_answer(
            asyncio.run(approve_order(session, make_order)), as_json=session.as_json
        )
    if command.answer is None:
        raise TypeError(f"{command.name} neither answers nor orders anything.")
    return print_answer(asyncio.run(command.answer(session, asked)), as_json=session.as_json)
