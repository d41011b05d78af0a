"""Changes that need no debate, understood by the parser of their command-line twins."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from importlib import import_module
from typing import TYPE_CHECKING

from zuno_tui.commands.arguments import build_parser
from zuno_tui.phrases.phrase_error import PhraseError

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.commands.approve import OrderMaker
    from zuno_tui.commands.intents import ChangePosition
    from zuno_tui.session.session import Session


def order_of_change(session: Session, asked: ChangePosition) -> OrderMaker:
    command = import_module(f"zuno_tui.commands.{asked.verb}")
    make_order: OrderMaker = command.make_order(session, _parsed(asked))
    return make_order


def _parsed(asked: ChangePosition) -> Namespace:
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return build_parser().parse_args([asked.verb, *asked.arguments])
    except SystemExit:
        complaint = said.getvalue().strip().splitlines()[-1:] or [asked.twin]
        raise PhraseError(complaint[0], "") from None
