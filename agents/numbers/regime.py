"""What kind of market this is, by one table read from the top, with the numbers that decided."""

from enum import StrEnum
from typing import NamedTuple

from agents.numbers.edges import TICK_LOG

STRESSES = (1, 2, 3)
"""Multiples of volatility at which every candidate's buffer is shown."""


def daily_ticks(daily_sigma: float) -> float:
    """Ticks per √day of a volatility given as the deviation of a day's log return."""
    return daily_sigma / TICK_LOG


def daily_sigma(ticks: float) -> float:
    """The deviation of a day's log return of a volatility given in ticks per √day."""
    return ticks * TICK_LOG


STRESSED_SIGMA = 0.035
STRESSED_RATIO = 2.5
VOLATILE_SIGMA = 0.022
TRENDING_EFFICIENCY = 0.4
TRENDING_SIGMA = 0.006


class Regime(StrEnum):
    STRESSED = "stressed"
    VOLATILE = "volatile"
    TRENDING = "trending"
    RANGING = "ranging"


class RegimeReading(NamedTuple):
    """The regime, why in words, and what was measured; None is what nobody could measure."""

    regime: Regime
    reason: str
    sigma_24h: float
    sigma_7d: float | None
    path_efficiency: float | None


def path_efficiency(net_move: float, travelled: float) -> float | None:
    """|net move| / travelled: 1 for a straight line, near 0 for a price that goes nowhere."""
    return abs(net_move) / travelled if travelled > 0 else None


def read_regime(
    sigma_24h: float, sigma_7d: float | None, efficiency: float | None
) -> RegimeReading:
    """The first row of the table that matches; a row whose number is unknown cannot match."""
    regime, reason = _first_match(sigma_24h, sigma_7d, efficiency)
    return RegimeReading(regime, reason, sigma_24h, sigma_7d, efficiency)


def _first_match(
    sigma_24h: float, sigma_7d: float | None, efficiency: float | None
) -> tuple[Regime, str]:
    day = f"24 h volatility is {_percent(sigma_24h)} a day"
    if sigma_24h > STRESSED_SIGMA:
        return Regime.STRESSED, f"{day}, over {_percent(STRESSED_SIGMA)}."
    if sigma_7d is not None and sigma_24h > STRESSED_RATIO * sigma_7d:
        return Regime.STRESSED, (
            f"{day}, over {STRESSED_RATIO:g} × its 7 d level of {_percent(sigma_7d)}."
        )
    if sigma_24h > VOLATILE_SIGMA:
        return Regime.VOLATILE, f"{day}, over {_percent(VOLATILE_SIGMA)}."
    if efficiency is not None and efficiency > TRENDING_EFFICIENCY and sigma_24h > TRENDING_SIGMA:
        return Regime.TRENDING, (
            f"{efficiency:.0%} of today's movement went one way "
            f"(over {TRENDING_EFFICIENCY:.0%} is a trend)."
        )
    unknown = [
        name for name, value in (("7 d level", sigma_7d), ("path", efficiency)) if value is None
    ]
    without = f" Unknown here: {' and '.join(unknown)}." if unknown else ""
    return Regime.RANGING, f"{day}, neither stressed nor a trend.{without}"


def _percent(sigma: float) -> str:
    return f"{100 * sigma:.3g}%"
