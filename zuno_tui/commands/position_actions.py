"""`zuno collect|compound|close|decrease|increase ID`: what is done with a position, unargued."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.arguments import TOKEN_ID, read_percent, write_amount
from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb
from zuno_tui.catalog.possible import of_selected, with_positions

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.command import ActionMaker
    from zuno_tui.prompt.remaining import Remaining

_AMOUNT_WORDS = 2


class CollectFees(Intent, frozen=True):
    command: ClassVar = ("collect",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


class CompoundFees(Intent, frozen=True):
    command: ClassVar = ("compound",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


class ClosePosition(Intent, frozen=True):
    command: ClassVar = ("close",)
    arguments: ClassVar = (TOKEN_ID,)

    token_id: int


class DecreasePosition(Intent, frozen=True):
    command: ClassVar = ("decrease",)
    arguments: ClassVar = (
        TOKEN_ID,
        Argument(
            "percent", "from 1 to 99; for all of it: zuno close", metavar="PCT", read=read_percent
        ),
    )

    token_id: int
    percent: int


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


def _collect(session: Session, intent: CollectFees) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_collect

    return lambda sources: action_to_collect(sources, intent.token_id, session.address)


def _compound(session: Session, intent: CompoundFees) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_compound

    return lambda sources: action_to_compound(sources, intent.token_id, session.address)


def _close(session: Session, intent: ClosePosition) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_close

    return lambda sources: action_to_close(sources, intent.token_id, session.address)


def _decrease(session: Session, intent: DecreasePosition) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_decrease

    return lambda sources: action_to_decrease(
        sources, intent.token_id, session.address, intent.percent
    )


def _increase(session: Session, intent: IncreasePosition) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_increase

    token_id = intent.token_id
    amount, symbol = _amount(f"{intent.amount} {intent.token or ''}".strip(), token_id)
    return lambda sources: action_to_increase(sources, token_id, session.address, amount, symbol)


def _amount(words: str, token_id: int) -> tuple[Numeral, str]:
    from chain.base.units import NumeralError, read_numeral
    from zuno_tui.prompt.phrase_error import PhraseError

    parts = words.split()
    if len(parts) != _AMOUNT_WORDS:
        raise PhraseError(
            f"{words!r} is not an amount and its token. Say it like: "
            f"zuno increase {token_id} 0.5 WETH",
            "",
        )
    try:
        return read_numeral(parts[0]), parts[1]
    except NumeralError as error:
        raise PhraseError(str(error), "") from error


def _reading(intent: Callable[[int], Intent], *fillers: str) -> Callable[[Remaining], Intent]:
    """Reads a position and nothing else."""

    def read(said: Remaining) -> Intent:
        token_id = said.position()
        said.end("position", *fillers)
        return intent(token_id)

    return read


def _read_decrease(said: Remaining) -> DecreasePosition:
    token_id = said.leading_position()
    if "to" in said.text.lower().split():
        said.refuse("whether that much is to be taken out, or to stay.")
    percent = said.percent(f"decrease {token_id} 25%")
    said.end("position", "by", "percent", "%")
    return DecreasePosition(token_id, percent)


def _read_increase(said: Remaining) -> IncreasePosition:
    token_id = said.leading_position()
    amount = write_amount(said.amount(f"increase {token_id} 0.5 WETH"))
    symbol = said.symbol(f"increase {token_id} {amount} WETH").upper()
    said.end("position", "by", "with")
    return IncreasePosition(token_id, amount, symbol)


def _verb(name: str, read: Callable[[Remaining], Intent], usage: str, *spoken: str) -> tuple[Verb]:
    return (
        Verb(
            name,
            read,
            usage,
            spoken=spoken,
            names="positions",
            money=True,
            possible=with_positions,
        ),
    )


COMMANDS = (
    Command(
        name="collect",
        does="prepare taking a position's fees out",
        group=Group.POSITION,
        intent=CollectFees,
        action=_collect,
        verbs=_verb(
            "collect",
            _reading(CollectFees, "fees", "fee", "from"),
            "collect ID",
            "collect fees",
            "claim",
            "claim fees",
        ),
        suggest=of_selected(lambda token_id: f"collect {token_id}"),
        key="desk.collect",
    ),
    Command(
        name="compound",
        does="prepare putting a position's fees back into it",
        group=Group.POSITION,
        intent=CompoundFees,
        action=_compound,
        verbs=_verb(
            "compound",
            _reading(CompoundFees, "fees", "fee", "back", "into"),
            "compound ID",
            "compound fees",
        ),
        suggest=of_selected(lambda token_id: f"compound {token_id}"),
    ),
    Command(
        name="close",
        does="prepare leaving a position",
        group=Group.POSITION,
        intent=ClosePosition,
        action=_close,
        verbs=_verb(
            "close",
            _reading(ClosePosition, "from", "out"),
            "close ID",
            "close position",
            "withdraw",
        ),
        suggest=of_selected(lambda token_id: f"close {token_id}"),
    ),
    Command(
        name="decrease",
        does="prepare taking a part of a position out",
        examples=("zuno decrease 26 25",),
        group=Group.POSITION,
        intent=DecreasePosition,
        action=_decrease,
        verbs=_verb("decrease", _read_decrease, "decrease ID PERCENT", "reduce"),
    ),
    Command(
        name="increase",
        does="prepare putting more into a position",
        examples=("zuno increase 26 0.5 WETH",),
        group=Group.POSITION,
        intent=IncreasePosition,
        action=_increase,
        verbs=_verb("increase", _read_increase, "increase ID AMOUNT TOKEN"),
    ),
)
