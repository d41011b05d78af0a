"""`zuno increase ID AMOUNT TOKEN`: approve adding to a position, both tokens from the wallet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.numerals import NumeralError, read_numeral
from zuno_tui.commands.approve import approve_order
from zuno_tui.gate.orders.position import order_to_increase
from zuno_tui.phrases.phrase_error import PhraseError
from zuno_tui.session.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.base.numerals import Numeral
    from zuno_tui.commands.approve import OrderMaker

_WORDS = 2


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_order(session, make_order(session, arguments))


def make_order(session: Session, arguments: Namespace) -> OrderMaker:
    token_id = arguments.token_id
    amount, symbol = _amount(f"{arguments.amount} {arguments.token or ''}".strip(), token_id)
    return lambda sources: order_to_increase(sources, token_id, session.address, amount, symbol)


def _amount(said: str, token_id: int) -> tuple[Numeral, str]:
    words = said.split()
    if len(words) != _WORDS:
        raise PhraseError(
            f"{said!r} is not an amount and its token. Say it like: "
            f"zuno increase {token_id} 0.5 WETH",
            "",
        )
    try:
        return read_numeral(words[0]), words[1]
    except NumeralError as error:
        raise PhraseError(str(error), "") from error
