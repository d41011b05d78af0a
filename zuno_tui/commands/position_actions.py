"""`zuno collect|compound|close ID…|all`, `decrease|increase ID`: done with positions, unargued."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.arguments import POSITION, POSITIONS, read_percent, write_amount
from zuno_tui.intents.intent import Argument, Intent, OneOf, PositionName

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.session import Session
    from zuno_tui.gate.actions.position import Together
    from zuno_tui.intents.remaining import Remaining

_AMOUNT_WORDS = 2


_ETH = Argument("--eth", "pay wrapped ETH of v3 out as ETH", switch=True)


class OfPositions(Intent, frozen=True):
    arguments: ClassVar[tuple[Argument | OneOf, ...]] = (POSITIONS,)

    refs: tuple[PositionName, ...]


class Paying(OfPositions, frozen=True):
    """What pays out of positions."""

    arguments: ClassVar[tuple[Argument | OneOf, ...]] = (POSITIONS, _ETH)

    eth: bool = False


class CollectFees(Paying, frozen=True):
    command: ClassVar = ("collect",)


class CompoundFees(OfPositions, frozen=True):
    command: ClassVar = ("compound",)


class ClosePosition(Paying, frozen=True):
    command: ClassVar = ("close",)


class DecreasePosition(Intent, frozen=True):
    command: ClassVar = ("decrease",)
    arguments: ClassVar = (
        POSITION,
        Argument(
            "percent", "from 1 to 99; for all of it: zuno close", metavar="PCT", read=read_percent
        ),
        _ETH,
    )

    ref: PositionRef
    percent: int
    eth: bool = False


class IncreasePosition(Intent, frozen=True):
    command: ClassVar = ("increase",)
    arguments: ClassVar = (
        POSITION,
        Argument("amount", "at most this much, …", metavar="AMOUNT"),
        Argument(
            "token",
            "… of this token, like 0.5 WETH; of the other, the wallet gives what the range takes",
            metavar="TOKEN",
        ),
    )

    ref: PositionRef
    amount: str
    """May hold the token, too, where both were quoted as one word."""
    token: str | None = None


def _together(verb: Together) -> Callable[[Session, OfPositions], ActionMaker]:
    """One plan for all positions that are named."""

    def action(session: Session, intent: OfPositions) -> ActionMaker:
        from zuno_tui.gate.actions.position import action_for

        named = dict.fromkeys(intent.refs)
        refs = [] if "all" in named else [number for number in named if number != "all"]
        native = isinstance(intent, Paying) and intent.eth
        return lambda sources: action_for(sources, verb, refs, session.address, native=native)

    return action


def _decrease(session: Session, intent: DecreasePosition) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_decrease

    return lambda sources: action_to_decrease(
        sources, intent.ref, session.address, intent.percent, native=intent.eth
    )


def _increase(session: Session, intent: IncreasePosition) -> ActionMaker:
    from zuno_tui.gate.actions.position import action_to_increase

    ref = intent.ref
    amount, symbol = _amount(f"{intent.amount} {intent.token or ''}".strip(), ref)
    return lambda sources: action_to_increase(sources, ref, session.address, amount, symbol)


def _amount(words: str, ref: PositionRef) -> tuple[Numeral, str]:
    from chain.base.units import NumeralError, read_numeral
    from zuno_tui.intents.phrase_error import PhraseError

    parts = words.split()
    if len(parts) != _AMOUNT_WORDS:
        raise PhraseError(
            f"{words!r} is not an amount and its token. Say it like: zuno increase {ref} 0.5 WETH",
            "",
        )
    try:
        return read_numeral(parts[0]), parts[1]
    except NumeralError as error:
        raise PhraseError(str(error), "") from error


def _reading(
    intent: Callable[[tuple[PositionName, ...]], Intent], *fillers: str
) -> Callable[[Remaining], Intent]:
    """Reads positions, or `all` alone, and nothing else."""

    def read(said: Remaining) -> Intent:
        if said.text.lower() == "all":
            return intent(("all",))
        refs = said.positions()
        said.end("position", "positions", *fillers)
        return intent(refs)

    return read


def _read_decrease(said: Remaining) -> DecreasePosition:
    ref = said.leading_position()
    if "to" in said.text.lower().split():
        said.refuse("whether that much is to be taken out, or to stay.")
    percent = said.percent(f"decrease {ref} 25%")
    said.end("position", "by", "percent", "%")
    return DecreasePosition(ref, percent)


def _read_increase(said: Remaining) -> IncreasePosition:
    ref = said.leading_position()
    amount = write_amount(said.amount(f"increase {ref} 0.5 WETH"))
    symbol = said.symbol(f"increase {ref} {amount} WETH").upper()
    said.end("position", "by", "with")
    return IncreasePosition(ref, amount, symbol)


def _verb(name: str, read: Callable[[Remaining], Intent], usage: str, *spoken: str) -> tuple[Verb]:
    return (
        Verb(
            name, read, usage, spoken=spoken, names="positions", money=True, possible=with_positions
        ),
    )


COMMANDS = (
    Command(
        does="collect the fees of positions",
        group=Group.ACTING,
        intent=CollectFees,
        action=_together("collect"),
        verbs=_verb(
            "collect",
            _reading(CollectFees, "fees", "fee", "from"),
            "collect ID…|all",
            "collect fees",
            "claim",
            "claim fees",
        ),
        suggest=of_selected(lambda ref: f"collect {ref}"),
        key="desk.collect",
    ),
    Command(
        does="add the fees of positions to their liquidity",
        group=Group.ACTING,
        intent=CompoundFees,
        action=_together("compound"),
        verbs=_verb(
            "compound",
            _reading(CompoundFees, "fees", "fee", "back", "into"),
            "compound ID…|all",
            "compound fees",
        ),
        suggest=of_selected(lambda ref: f"compound {ref}"),
    ),
    Command(
        does="close positions",
        group=Group.ACTING,
        intent=ClosePosition,
        action=_together("close"),
        verbs=_verb(
            "close",
            _reading(ClosePosition, "from", "out"),
            "close ID…|all",
            "close position",
            "withdraw",
        ),
        suggest=of_selected(lambda ref: f"close {ref}"),
    ),
    Command(
        does="remove a part of a position",
        examples=("zuno decrease 26 25",),
        group=Group.ACTING,
        intent=DecreasePosition,
        action=_decrease,
        verbs=_verb("decrease", _read_decrease, "decrease ID PERCENT", "reduce", "remove"),
    ),
    Command(
        does="add to a position",
        examples=("zuno increase 26 0.5 WETH",),
        group=Group.ACTING,
        intent=IncreasePosition,
        action=_increase,
        verbs=_verb("increase", _read_increase, "increase ID AMOUNT TOKEN", "add"),
    ),
)
