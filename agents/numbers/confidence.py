"""How sure a choice is: the share of volatilities between half and twice under which it holds.

The multiples are an even grid in logarithms, so that half and twice weigh the same and every run
asks the same questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.numbers.choosing import worth_leaving_health
from agents.numbers.outlook import PoolMarket, Stake, expected_life_hours, net_24h
from agents.numbers.survival import HOURS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents.numbers.choosing import VolatilityWindow

LEAST_MULTIPLE = 0.5
MOST_MULTIPLE = 2.0
DRAWS = 41


class Contest(Struct, frozen=True):
    """HOLD against moves into one pool, each with its cost."""

    market: PoolMarket
    hold: Stake | None
    """None when nothing is held, as before a position exists."""
    moves: tuple[tuple[Stake, float], ...]
    healthy: bool = False
    """HOLD is in range and keeps its floor: a move must net a multiple of it."""


def volatility_multiples(draws: int = DRAWS) -> tuple[float, ...]:
    """Multiples of volatility from 0.5 to 2, evenly spaced in logarithms."""
    span = MOST_MULTIPLE / LEAST_MULTIPLE
    return tuple(LEAST_MULTIPLE * span ** (draw / (draws - 1)) for draw in range(draws))


def share_of(holds: Callable[[float], bool], multiples: Sequence[float] | None = None) -> float:
    """The share of these multiples for which the claim holds."""
    asked = volatility_multiples() if multiples is None else multiples
    return sum(holds(multiple) for multiple in asked) / len(asked)


def move_confidence(contest: Contest) -> float:
    """In how many of the draws the move still beats HOLD."""
    return share_of(lambda multiple: _hold_beaten(contest, multiple))


def hold_confidence(contests: Sequence[Contest]) -> float:
    """In how many of the draws no move of any pool beats HOLD."""
    return share_of(
        lambda multiple: not any(_hold_beaten(contest, multiple) for contest in contests)
    )


def exit_confidence(day: VolatilityWindow, week: VolatilityWindow) -> float:
    """In how many of the draws the market still moves more than fees pay for."""

    def holds(multiple: float) -> bool:
        return all(
            window.realised is not None
            and window._replace(realised=window.realised * multiple).unpaid
            for window in (day, week)
        )

    return share_of(holds)


def _hold_beaten(contest: Contest, multiple: float) -> bool:
    """Whether one of the moves beats HOLD in this market at another volatility."""
    market = contest.market.stressed(multiple)
    held = 0.0 if contest.hold is None else net_24h(market, contest.hold)
    if held is None:
        return False
    return any(
        _beats(market, held, move, cost, healthy=contest.healthy) for move, cost in contest.moves
    )


def _beats(market: PoolMarket, held: float, move: Stake, cost: float, *, healthy: bool) -> bool:
    moved = net_24h(market, move)
    if moved is None:
        return False
    gain = moved - held
    if healthy and not worth_leaving_health(held, gain):
        return False
    return gain * expected_life_hours(market, move) / HOURS_PER_DAY > cost
