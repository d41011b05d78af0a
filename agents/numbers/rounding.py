"""Six significant digits, so that every machine writes the same bytes for the same number."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import isfinite

SIGNIFICANT_DIGITS = 6

_GUARD_DIGITS = 12


class UnwritableNumberError(ValueError):
    """A number that no payload can hold."""

    def __init__(self, number: float) -> None:
        super().__init__(
            f"{number} cannot be written: give None and a reason for what is unknown or never."
        )


# Each number of a proposal is written by whoever proposes it and by whoever checks it.
@lru_cache(maxsize=8192)
def significant(number: float, digits: int = SIGNIFICANT_DIGITS) -> float:
    """The nearest float with this many significant decimal digits; ties go to the even digit."""
    if not isfinite(number):
        raise UnwritableNumberError(number)
    # Libraries of mathematics differ in the last bits. Taking those off first lets a number that
    # lies exactly between two roundings fall to the same side wherever it was computed.
    steady = Decimal(f"{number:.{_GUARD_DIGITS}g}")
    rounded = float(Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(steady))
    return rounded or 0.0


def writable(number: float | None) -> float | None:
    """The rounded number, or None for what is unknown (None) or never comes (infinite)."""
    if number is None or number == float("inf"):
        return None
    return significant(number)


def gain_over(net: float | None, held: float | None) -> float | None:
    """What one option nets more than another, of dollars in cents: the figures add up as shown."""
    if net is None or held is None:
        return None
    return round(significant(net), 2) - round(significant(held), 2)
