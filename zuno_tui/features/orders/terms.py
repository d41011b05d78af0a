"""What is typed behind `order close 28`: a condition, an end, and how often."""

from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, NumeralError, read_numeral
from zuno_tui.features.orders.intents import is_span, read_span
from zuno_tui.prompt.figures import read_day

When = Literal["below", "above", "out-of-range", "loss-over", "every"]
LEAST_HOLD = 120
"""Seconds a condition must hold where nobody says otherwise."""
_DEFAULT_DAYS, _MOST_DAYS = 30, 90
_MOST_TIMES = 64


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


def read_terms(kind: Literal["close", "collect"], words: tuple[str, ...], now: int) -> OrderTerms:
    """Words in any order; each may be said once."""
    left = [word.lower().rstrip(",") for word in words]
    until = _until(left, now)
    terms = _collecting(left) if kind == "collect" else _closing(left)
    if left:
        usage = CLOSE_USAGE if kind == "close" else COLLECT_USAGE
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
    seconds = _time(_after(left, "every")) if "every" in left else 7 * DAY
    if "over" not in left:
        raise OrderWordsError(COLLECT_USAGE)
    dollars = _number(_after(left, "over").removeprefix("$"))
    times = int(_number(_after(left, "times"))) if "times" in left else 1
    if not 1 <= times <= _MOST_TIMES:
        raise OrderWordsError(f"An order is carried out once to {_MOST_TIMES} times.")
    return OrderTerms("every", seconds=seconds, micro_usd=round(dollars * 10**6), times=times)


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
