"""Units, moments and numbers: as they are counted, read exactly and written in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Generic, TypeVar, Union

from msgspec import Meta, Struct

BIPS = 10_000
"""A basis point is one in so many."""
PIPS = 1_000_000
"""Uniswap counts fees in one of so many."""
MICRO = 1_000_000
"""Dollars are kept in integers of one in so many."""
GWEI = 10**9
COIN = 10**18
"""Wei in one of a network's own coin."""
HOUR = 3_600
"""In seconds."""
DAY = 86_400
"""In seconds."""
APPROVAL_SECONDS = 600.0
"""How long an approval lasts, whatever it is for."""
MEGABYTE = 1_000_000
AS_TEXT = Meta(extra={"wire": "text"})
Units = Annotated[int, AS_TEXT]
"""Smallest units, wei, liquidity or an id: text in a document, for it may pass 2^53."""
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
"""Of an account or contract, its checksum not looked at."""


LAST_SECOND = 253_402_300_799
"""Of the year 9999: what lasts longer, such as an allowance without an end, is told as a number."""


def time_text(second: int) -> str:
    if second > LAST_SECOND:
        return f"second {second}"
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S} UTC"


def minute_text(second: int) -> str:
    """The same to the minute, for a line."""
    if second > LAST_SECOND:
        return f"second {second}"
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M} UTC"


UNKNOWN = "unknown"

_LONGEST_HOURS = 48
_LONG_UNITS = (("days", 14, 1), ("weeks", 9, 7), ("months", 24, 30.44), ("years", 100, 365.25))
"""Names, the count from which the next is said, and their length in days."""


def hours(value: float | None) -> str:
    """As people say it: `12 min`, `30 h`, `2.5 days`, `3 weeks`, `5 months`, `4 years`."""
    if value is None:
        return UNKNOWN
    if 0 < value < 1:
        return f"{60 * value:.2g} min" if value * 60 >= 1 else "under a minute"
    if value < _LONGEST_HOURS:
        return f"{value:.3g} h"
    for unit, longest, length in _LONG_UNITS:
        count = value / 24 / length
        if count < longest - 0.5:
            return f"{count:.2g} {unit}" if unit == "days" else f"{count:.0f} {unit}"
    return "over 100 years"


def percent(part: float | None) -> str:
    return UNKNOWN if part is None else f"{100 * part:.3g}%"


def signed_percent(part: Fraction | float) -> str:
    """To hundredths: less is no loss that anybody looks for."""
    size = round(100 * float(part), 2)
    if abs(size) >= 100:
        return f"{size:+,.0f}%".replace("-", "−")
    return f"{size:+.2f}%".replace("-", "−") if size else "0%"


_MOST_HOURS = 10_000


def hours_cell(value: float) -> str:
    """For a column, which has one unit however long the longest is: `32.7 h`, `1,240.0 h`."""
    return f"{value:,.1f} h" if value < _MOST_HOURS else f">{_MOST_HOURS:,} h"


def usd(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    sign = "−" if value < 0 else ""
    return f"{sign}${abs(value):,.2f}" if abs(value) >= 0.01 or value == 0 else f"{sign}<$0.01"


# Either no grouping at all, or groups of three; a point starts the decimals, a comma never does.
_NUMERAL = re.compile(
    r"(?P<sign>-?)"
    r"(?P<whole>[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]*)"
    r"(?:\.(?P<fraction>[0-9]+))?"
    r"(?P<scale>[km]?)",
    re.ASCII | re.IGNORECASE,
)
_SCALES = {"": 0, "k": 3, "m": 6}


class NumeralError(ValueError):
    """A number that two people could read differently."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is not a number zuno can be sure of: commas group thousands "
            "and a point starts the decimals, as in 1,000.5."
        )


class Numeral(Struct, frozen=True):
    """`digits` over ten to the `places`; both as written, so nothing is rounded."""

    text: str
    digits: int
    places: int

    @property
    def value(self) -> Fraction:
        return self.digits * Fraction(10) ** -self.places

    def scale(self, decimals: int) -> int | None:
        """The number times ten to the `decimals`; None when that is not whole."""
        shift = decimals - self.places
        whole, rest = divmod(self.digits * 10 ** max(0, shift), 10 ** max(0, -shift))
        return None if rest else int(whole)


def read_numeral(text: str) -> Numeral:
    """A number such as `0.5`, `1,000.5`, `1k` or `2.5m`."""
    match = _NUMERAL.fullmatch(text)
    if match is None or not (match["whole"] or match["fraction"]):
        raise NumeralError(text)
    fraction = match["fraction"] or ""
    digits = int(match["sign"] + match["whole"].replace(",", "") + fraction)
    return Numeral(text, digits, len(fraction) - _SCALES[match["scale"].lower()])


def write_amount(units: int, decimals: int) -> str:
    """Smallest units as a number of whole tokens, to the last digit: `1,500.25`."""
    whole, rest = divmod(units, 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{whole:,}.{fraction}" if fraction else f"{whole:,}"


def spelled_out(numeral: Numeral) -> str:
    """Digits and a point alone: no 1,000 and no 1k."""
    places = numeral.places
    return write_amount(numeral.digits * 10 ** max(0, -places), max(0, places)).replace(",", "")


def age_text(seconds: int) -> str:
    """A length of time, as coarse as people say it."""
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {name}"
    return f"{seconds} s"


_MOST_TIMES = 1_000


def list_words(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def times_words(value: float) -> str:
    """`0.83 ×`; beyond sense only that it is: `> 1,000 ×`."""
    if value > _MOST_TIMES:
        return f"> {_MOST_TIMES:,} ×"
    return f"{value:.2g} ×" if value < 100 else f"{value:,.0f} ×"


T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Unknown(Struct, frozen=True):
    """A number nobody has, and why: a phrase that can stand after "unknown:"."""

    reason: str

    def map(self, function: Callable[..., object]) -> Unknown:  # noqa: ARG002
        """Nothing computed from the unknown is known; the reason stays."""
        return self


class Known(Struct, Generic[T_co], frozen=True, gc=False):
    value: T_co
    source: str
    """Who says so, for people: "pool swaps", "CoinGecko", "PoolManager storage"."""
    block: int | None = None
    time: float | None = None
    """Unix seconds: of the block when it was read from a chain, else of the answer."""

    def age(self, now: float) -> float | None:
        """Seconds since then, by the network's own clock."""
        return None if self.time is None else max(0.0, now - self.time)

    def map(self, function: Callable[[T_co], R]) -> Known[R]:
        """Another number computed from this one alone, from the same source."""
        return Known(function(self.value), self.source, self.block, self.time)


Quantity = Union[Known[T_co], Unknown]  # noqa: UP007, the alias stays generic this way


def combine(function: Callable[..., R], *inputs: Quantity[object]) -> Quantity[R]:
    """A number computed from several: as old as the oldest, unknown when any of them is."""
    known: list[Known[object]] = []
    for quantity in inputs:
        if isinstance(quantity, Unknown):
            return quantity
        known.append(quantity)
    return Known(
        function(*(quantity.value for quantity in known)),
        source=" + ".join(dict.fromkeys(quantity.source for quantity in known)),
        block=min((q.block for q in known if q.block is not None), default=None),
        time=min((q.time for q in known if q.time is not None), default=None),
    )
