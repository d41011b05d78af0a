"""`zuno increase ID AMOUNT TOKEN`: approve adding to a position, both tokens from the wallet."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID
from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb
from zuno_tui.catalog.possible import with_positions

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import OrderMaker
    from zuno_tui.prompt.remaining import Remaining


class IncreasePosition(Intent, frozen=True):
    command: ClassVar = ("increase",)
    arguments: ClassVar = (
        TOKEN_ID,
        Argument("amount", "at most this much, …", metavar="AMOUNT"),
        Argument(
            "token",
            "… of this token, like 0.5 WETH; of the other, the wallet gives what the range takes",
            metavar="TOKEN",
            optional=True,
        ),
    )

    token_id: int
    amount: str
    """May hold the token, too, where both were quoted as one word."""
    token: str | None = None


_WORDS = 2


def _order(session: Session, intent: IncreasePosition) -> OrderMaker:
    from zuno_tui.gate.orders.position import order_to_increase

    token_id = intent.token_id
    amount, symbol = _amount(f"{intent.amount} {intent.token or ''}".strip(), token_id)
    return lambda sources: order_to_increase(sources, token_id, session.address, amount, symbol)


def _amount(said: str, token_id: int) -> tuple[Numeral, str]:
    from chain.base.units import NumeralError, read_numeral
    from zuno_tui.prompt.phrase_error import PhraseError

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


def _read(said: Remaining) -> IncreasePosition:
    from zuno_tui.catalog.arguments import write_amount

    token_id = said.leading_position()
    amount = write_amount(said.amount(f"increase {token_id} 0.5 WETH"))
    symbol = said.symbol(f"increase {token_id} {amount} WETH").upper()
    said.end("position", "by", "with")
    return IncreasePosition(token_id, amount, symbol)


COMMAND = Command(
    name="increase",
    does="prepare putting more into a position",
    examples=("zuno increase 26 0.5 WETH",),
    group=Group.POSITION,
    intent=IncreasePosition,
    order=_order,
    verbs=(
        Verb(
            "increase",
            _read,
            "increase ID AMOUNT TOKEN",
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
)
