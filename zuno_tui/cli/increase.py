"""`zuno increase ID AMOUNT TOKEN`: approve adding to a position, both tokens from the wallet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.cli.approve import approve_wish
from zuno_tui.gate.wishes_about_positions import wish_to_increase
from zuno_tui.phrases.amounts import NumeralError, read_numeral
from zuno_tui.phrases.phrase_error import PhraseError
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.cli.approve import Wishing
    from zuno_tui.phrases.amounts import Numeral

_WORDS = 2


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return approve_wish(session, wishing(session, arguments))


def wishing(session: Session, arguments: Namespace) -> Wishing:
    token_id = arguments.token_id
    amount, symbol = _amount(f"{arguments.amount} {arguments.token or ''}".strip(), token_id)
    return lambda sources: wish_to_increase(sources, token_id, session.address, amount, symbol)


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
