"""What a choice rests on and what it may survive: volatility and fees, half or twice."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Assumption(StrEnum):
    VOLATILITY_HALF = "volatility-half"
    VOLATILITY_TWICE = "volatility-twice"
    FEES_HALF = "fees-half"
    FEES_TWICE = "fees-twice"


class MarketMultiples(NamedTuple):
    """A market that differs from the one observed."""

    volatility: float = 1.0
    fees: float = 1.0


AS_OBSERVED = MarketMultiples()
MULTIPLES = {
    Assumption.VOLATILITY_HALF: MarketMultiples(volatility=0.5),
    Assumption.VOLATILITY_TWICE: MarketMultiples(volatility=2.0),
    Assumption.FEES_HALF: MarketMultiples(fees=0.5),
    Assumption.FEES_TWICE: MarketMultiples(fees=2.0),
}
