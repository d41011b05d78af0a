"""The card's chances for many centred ranges at once, from the card's own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.numbers.edges import Edges
from agents.numbers.survival import HOURS_PER_DAY, buffer_hours, mixed_survival

if TYPE_CHECKING:
    from agents.calibration.hourly_bars import Floats

_FINEST, _COARSEST, _KNOTS = -14.0, 8.0, 2_201
"""Of ln(σ²t/W²): below it all stay, above it none; a hundred knots each time it grows by e."""


class CentredSurvival:
    """S̄ with the price in the middle is a function of σ²t/W² alone: one table serves all."""

    def __init__(self, scatter: float) -> None:
        self._places = np.linspace(_FINEST, _COARSEST, _KNOTS)
        self._chances = np.array(
            [mixed_survival(0.5, float(scaled), scatter) for scaled in np.exp(self._places)]
        )
        self._unit_buffer = buffer_hours(Edges(1.0, 1.0), 1.0, scatter=scatter)

    def chances(self, half_width: float, daily_sigma: Floats, hours: float) -> Floats:
        """That a price leaves a range of this half-width, in ln price, not before these hours."""
        scaled = daily_sigma * daily_sigma * (hours / HOURS_PER_DAY / (4 * half_width * half_width))
        return np.asarray(np.interp(np.log(scaled), self._places, self._chances))

    def buffers(self, half_width: float, daily_sigma: Floats) -> Floats:
        """The hours it stays inside with 95 %, growing as (half-width/σ)²."""
        reach = half_width / daily_sigma
        return self._unit_buffer * reach * reach
