"""Numbers as people write them, kept exact: digits and a decimal point, never a float."""

from __future__ import annotations

import re
from fractions import Fraction

from msgspec import Struct

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

    def scaled(self, decimals: int) -> int | None:
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


def written(units: int, decimals: int) -> str:
    """Smallest units as a number of whole tokens, to the last digit: `1,500.25`."""
    whole, rest = divmod(units, 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{whole:,}.{fraction}" if fraction else f"{whole:,}"


def spelled_out(numeral: Numeral) -> str:
    """Digits and a point alone: no 1,000 and no 1k."""
    places = numeral.places
    return written(numeral.digits * 10 ** max(0, -places), max(0, places)).replace(",", "")
