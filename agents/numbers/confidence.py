"""How sure a choice is: the share of volatilities between half and twice under which it holds.

The multiples are an even grid in logarithms, so that half and twice weigh the same and every run
asks the same questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.numbers.choosing import worth_leaving_health
from agents.numbers.outlook import (
    Market,
    Stake,
    expected_life_hours,
    gain_over_hold,
    look_at,
)
from agents.numbers.survival import HOURS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agents.numbers.choosing import VolatilityWindow

LEAST_MULTIPLE = 0.5
MOST_MULTIPLE = 2.0
DRAWS = 41


def volatility_multiples(draws: int = DRAWS) -> tuple[float, ...]:
    """Multiples of volatility from 0.5 to 2, evenly spaced in logarithms."""
    span = MOST_MULTIPLE / LEAST_MULTIPLE
    return tuple(LEAST_MULTIPLE * span ** (draw / (draws - 1)) for draw in range(draws))


def share_of(holds: Callable[[float], bool], multiples: Sequence[float] | None = None) -> float:
    """The share of these multiples for which the claim holds."""
    asked = volatility_multiples() if multiples is None else multiples
    return sum(holds(multiple) for multiple in asked) / len(asked)


def move_confidence(
    market: Market, hold: Stake | None, move: Stake, cost: float, *, healthy: bool = False
) -> float:
    """In how many of the draws the move still beats HOLD."""

    def holds(multiple: float) -> bool:
        return _beats_hold(market.stressed(multiple), hold, move, cost, healthy=healthy)

    return share_of(holds)


def hold_confidence(
    market: Market,
    hold: Stake | None,
    moves: Iterable[tuple[Stake, float]],
    *,
    healthy: bool = False,
) -> float:
    """In how many of the draws no move, each given with its cost, beats HOLD."""
    candidates = tuple(moves)

    def holds(multiple: float) -> bool:
        stressed = market.stressed(multiple)
        return not any(
            _beats_hold(stressed, hold, move, cost, healthy=healthy) for move, cost in candidates
        )

    return share_of(holds)


def exit_confidence(day: VolatilityWindow, week: VolatilityWindow) -> float:
    """In how many of the draws the market still moves more than fees pay for."""

    def holds(multiple: float) -> bool:
        return all(
            window.realised is not None
            and window._replace(realised=window.realised * multiple).unpaid
            for window in (day, week)
        )

    return share_of(holds)


def _beats_hold(
    market: Market, hold: Stake | None, move: Stake, cost: float, *, healthy: bool
) -> bool:
    gain = gain_over_hold(market, hold, move)
    if gain is None:
        return False
    if healthy and hold is not None:
        net = look_at(market, hold).net_24h
        if not worth_leaving_health(net, gain):
            return False
    return gain * expected_life_hours(market, move) / HOURS_PER_DAY > cost
