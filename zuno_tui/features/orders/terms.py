"""What is typed behind `order close 28`: a condition, an end, and how often."""

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, MICRO, NumeralError, read_numeral
from chain.execution.plan.protocol import OrderKind
from zuno_tui.features.orders.intents import is_span, read_span
from zuno_tui.prompt.days import read_day

When = Literal["below", "above", "out-of-range", "loss-over", "every", "up", "down"]
LEAST_HOLD = 120
"""Seconds a condition must hold where nobody says otherwise."""
_DEFAULT_DAYS, _MOST_DAYS = 30, 90
_MOST_TIMES = 64
_MOST_DOLLARS = (2**50 - 1) // MICRO
"""What fits in the file of an order."""


class OrderTerms(Struct, frozen=True):
    """What was typed behind `order close 28`, read."""

    when: When
    price: Fraction = Fraction(0)
    seconds: int = 0
    bips: int = 0
    micro_usd: int = 0
    times: int = 1
    until: int = 0


class OrderWordsError(ValueError):
    """What was typed is no condition; says how one is written."""


CLOSE_USAGE = "Say when: below 2900, above 3400, out-of-range 2h or loss-over 5%."
COLLECT_USAGE = "Say when: every 7d over $50, and times 4 where it is not once."
COMPOUND_USAGE = "Say how often: every 7d, over $50 of fees, and times 4 where it is not once."
MOVE_USAGE = "Say where its far end goes: up to 3400, or down to 2800."
_NO_OTHER_COIN = (
    "An order cannot collect in another coin: its call is fixed when it is signed, Uniswap's "
    "PositionManager cannot swap, and a swap of a fixed amount would sell coins of your wallet. "
    "Collect as it is, and swap yourself: zuno swap"
)


def read_terms(kind: OrderKind, words: tuple[str, ...], now: int) -> OrderTerms:
    """Words in any order; each may be said once."""
    left = [word.lower().rstrip(",") for word in words]
    until = _until(left, now)
    read, usage = _READERS[kind]
    terms = read(left)
    if left:
        raise OrderWordsError(f"{' '.join(left)!r} is not understood. {usage}")
    return replace(terms, until=until)


def _closing(left: list[str]) -> OrderTerms:
    for word in ("below", "under", "above", "over"):
        if word in left:
            price = _number(_after(left, word))
            return OrderTerms("below" if word in ("below", "under") else "above", price=price)
    if "out-of-range" in left:
        return OrderTerms("out-of-range", seconds=_time(_after(left, "out-of-range")))
    if "loss-over" in left:
        share = _number(_after(left, "loss-over").removesuffix("%"))
        if not 0 < share < 100:
            raise OrderWordsError("A loss is a share from above 0 to under 100%.")
        return OrderTerms("loss-over", bips=round(share * 100))
    raise OrderWordsError(CLOSE_USAGE)


def _collecting(left: list[str]) -> OrderTerms:
    if "in" in left:
        raise OrderWordsError(_NO_OTHER_COIN)
    if "over" not in left:
        raise OrderWordsError(COLLECT_USAGE)
    return _compounding(left)


def _compounding(left: list[str]) -> OrderTerms:
    """Without a sum it is chosen by the fees of the past."""
    seconds = _time(_after(left, "every")) if "every" in left else 7 * DAY
    dollars = _number(_after(left, "over").removeprefix("$")) if "over" in left else Fraction(0)
    times = int(_number(_after(left, "times"))) if "times" in left else 1
    if not 1 <= times <= _MOST_TIMES:
        raise OrderWordsError(f"An order is carried out once to {_MOST_TIMES} times.")
    if dollars > _MOST_DOLLARS:
        raise OrderWordsError(f"The largest sum of fees is ${_MOST_DOLLARS:,}.")
    return OrderTerms("every", seconds=seconds, micro_usd=round(dollars * 10**6), times=times)


def _moving(left: list[str]) -> OrderTerms:
    sides: tuple[When, When] = ("up", "down")
    for side in sides:
        if side in left:
            left.remove(side)
            if "to" in left:
                return OrderTerms(side, price=_number(_after(left, "to")))
    raise OrderWordsError(MOVE_USAGE)


def _after(left: list[str], word: str) -> str:
    at = left.index(word)
    if at + 1 >= len(left):
        raise OrderWordsError(f"What follows {word!r} is missing.")
    value = left[at + 1]
    del left[at : at + 2]
    return value


def _number(text: str) -> Fraction:
    try:
        value = read_numeral(text.removeprefix("$")).value
    except NumeralError as error:
        raise OrderWordsError(str(error)) from None
    if value <= 0:
        raise OrderWordsError(f"{text} is not above zero.")
    return value


def _time(text: str) -> int:
    try:
        return read_span(text)
    except ValueError as error:
        raise OrderWordsError(f"{error}.") from None


_READERS: dict[OrderKind, tuple[Callable[[list[str]], OrderTerms], str]] = {
    "close": (_closing, CLOSE_USAGE),
    "collect": (_collecting, COLLECT_USAGE),
    "compound": (_compounding, COMPOUND_USAGE),
    "move": (_moving, MOVE_USAGE),
}


def _until(left: list[str], now: int) -> int:
    """When it ends: thirty days from now where nothing is said."""
    if "until" not in left:
        return now + _DEFAULT_DAYS * DAY
    at = left.index("until")
    for count in (3, 2, 1):
        text = " ".join(left[at + 1 : at + 1 + count])
        end = now + read_span(text) if is_span(text) else read_day(text, now)
        if end is not None and len(left[at + 1 : at + 1 + count]) == count:
            del left[at : at + 1 + count]
            if not now < end <= now + _MOST_DAYS * DAY:
                raise OrderWordsError(f"An order ends within {_MOST_DAYS} days from now.")
            return end
    raise OrderWordsError("Until when? Like: until 1 Dec, until 2026-12-01 or until 14d.")
