"""The three risk profiles: floors and ceilings moves are held to, and what a choice may rest on."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct


class RiskProfile(StrEnum):
    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Tiebreak(StrEnum):
    """What decides between candidates that judge alike."""

    STRESSED_BUFFER = "largest 2× volatility buffer"
    BUFFER_AND_YIELD = "largest min(buffer, 2 × floor) × yield"
    YIELD = "highest yield"


class ProfileRules(Struct, frozen=True):
    """One row of the table."""

    profile: RiskProfile
    buffer_floor_hours: float
    gas_yield_ceiling: float
    break_even_life_share: float
    """Of the median life within which a move must have paid for itself."""
    tiebreak: Tiebreak


PROFILES = {
    rules.profile: rules
    for rules in (
        ProfileRules(RiskProfile.CONSERVATIVE, 36, 1.2, 0.5, Tiebreak.STRESSED_BUFFER),
        ProfileRules(RiskProfile.BALANCED, 24, 1.6, 0.75, Tiebreak.BUFFER_AND_YIELD),
        ProfileRules(RiskProfile.AGGRESSIVE, 14, 2.4, 1.0, Tiebreak.YIELD),
    )
}


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
