"""A command that answers or prepares an action, run on the command line."""

import asyncio
from argparse import Namespace

from zuno_tui.app.session import Session
from zuno_tui.catalog.command import Command
from zuno_tui.catalog.old_block import answer_of
from zuno_tui.present.answer import print_answer


def run_in_session(command: Command, parsed: Namespace) -> int:
    session = Session.start(parsed)
    asked = command.intent.from_namespace(parsed)
    make_action = None if command.action is None else command.action(session, asked)
    if make_action is not None:
        from zuno_tui.app.approve import approve_order

        return print_answer(
            asyncio.run(approve_order(session, make_action)), as_json=session.as_json
        )
    return print_answer(asyncio.run(answer_of(command, session, asked)), as_json=session.as_json)
