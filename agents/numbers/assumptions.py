"""What a choice rests on and what it may survive: volatility and fees, half or twice."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class CheckedAssumption(StrEnum):
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
    CheckedAssumption.VOLATILITY_HALF: MarketMultiples(volatility=0.5),
    CheckedAssumption.VOLATILITY_TWICE: MarketMultiples(volatility=2.0),
    CheckedAssumption.FEES_HALF: MarketMultiples(fees=0.5),
    CheckedAssumption.FEES_TWICE: MarketMultiples(fees=2.0),
}
