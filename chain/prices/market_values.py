"""What a market's figure must be like to be believed."""

from __future__ import annotations

import math
from fractions import Fraction

from chain.base.units import HOUR

OLDEST_SECONDS = 1800.0
"""A market price older than this is not the market any more."""
AHEAD_SECONDS = 300.0
"""How far a server's clock may run ahead of ours."""
PAST_SECONDS = HOUR
"""How far from a past moment a price may be and still be told as that moment's."""
KEPT_SECONDS = 60.0
"""How long an answer is used again: markets themselves renew prices about once a minute."""

_MOST_DOLLARS = 1e12
_LEAST_DOLLARS = 1e-24


def checked_dollars(value: object) -> Fraction | None:
    """The price as an exact decimal, or None for what no price can be."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(value) or not _LEAST_DOLLARS <= value <= _MOST_DOLLARS:
        return None
    return Fraction(repr(value))
