"""Where prices go outside the pools: a seeded walk that the pools' traders follow.

Prices are logarithms in thousandths of a tick, whole numbers throughout, so that every machine
computes the same walk to the last digit and makes the same chain from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from chain.devnet.draws import ONE_SIGMA, Draws
from chain.devnet.phases import Calendar, Mood, Phase
from chain.math.ticks import sqrt_price_at_tick

MILLITICKS = 1000
"""A tick is a hundredth of a percent; the walk is a thousand times finer."""

MILLITICKS_PER_TENFOLD = 23_027_002
"""log(10) / log(1.0001), for moving between tokens of different decimals."""


class Asset(StrEnum):
    DOLLAR = "USD"
    ETHER = "ETH"
    BITCOIN = "BTC"
    TETHER = "USDT"


# ln(price) / ln(1.0001) of 3,200 and 96,000 dollars.
OPENING = {Asset.DOLLAR: 0, Asset.ETHER: 80_712_807, Asset.BITCOIN: 114_726_484, Asset.TETHER: 0}

# Milliticks a minute, one standard deviation: 0.9, 1.2 and 8 % a day for ether.
_ETHER_STEP = {Mood.CALM: 2_370, Mood.TREND: 3_160, Mood.SHOCK: 21_080}
_TREND_DRIFT = 710
"""About 3 % over seven hours."""

_JUMP_MINUTES = 10
_JUMP_DRIFT = 15_000
"""A shock opens with 1.5 % within ten minutes."""

# Without a pull back, weeks of demo time would carry the price out of everybody's range.
_PULL_MINUTES = 40_000
_TETHER_STEP = {Mood.CALM: 50, Mood.TREND: 60, Mood.SHOCK: 250}
_TETHER_PULL_MINUTES = 500

_WEEK_MINUTES = 7 * 24 * 60
_WANDERING_MINUTES = 5 * 24 * 60
_WANDERING = 350 * MILLITICKS


@dataclass(slots=True)
class PricePath:
    """The walk one seed decides, made minute by minute as far as somebody has asked."""

    draws: Draws
    calendar: Calendar
    _minutes: list[dict[Asset, int]] = field(default_factory=lambda: [dict(OPENING)])

    def at(self, minute: int) -> dict[Asset, int]:
        """The logarithm of each asset's dollar price at the end of this minute."""
        while len(self._minutes) <= minute:
            self._minutes.append(self._next(len(self._minutes)))
        return self._minutes[minute]

    def phase_at(self, minute: int) -> Phase:
        return self.calendar.at(minute)

    def _next(self, minute: int) -> dict[Asset, int]:
        before = self._minutes[-1]
        phase = self.calendar.at(minute)
        common = self.draws.normal("ether", minute)
        bitcoin = (4 * common + 3 * self.draws.normal("bitcoin", minute)) // 5
        drift = _drift(phase, minute)
        ether_step = _ETHER_STEP[phase.mood]
        return {
            Asset.DOLLAR: 0,
            Asset.ETHER: _walked(before, Asset.ETHER, common, ether_step, drift),
            Asset.BITCOIN: _walked(before, Asset.BITCOIN, bitcoin, ether_step * 3 // 4, drift // 2),
            Asset.TETHER: before[Asset.TETHER]
            + self.draws.normal("tether", minute) * _TETHER_STEP[phase.mood] // ONE_SIGMA
            - before[Asset.TETHER] // _TETHER_PULL_MINUTES,
        }


def seeded_path(seed: int) -> PricePath:
    """The path of a seed: the first of its walks that wanders both ways in the first days.

    A wallet with positions left behind above and below the market needs a market that moved.
    """
    attempt = 0
    while True:
        draws = Draws(seed * 1_000 + attempt)
        path = PricePath(draws, Calendar(draws))
        week = [path.at(minute)[Asset.ETHER] for minute in range(_WEEK_MINUTES + 1)]
        early, last = week[:_WANDERING_MINUTES], week[-1]
        if min(early) < last - _WANDERING and max(early) > last + _WANDERING:
            return path
        attempt += 1


def sqrt_price_at(milliticks: int) -> int:
    """√price as Q64.96 between ticks, interpolated (exact to a billionth)."""
    tick, part = divmod(milliticks, MILLITICKS)
    lower = sqrt_price_at_tick(tick)
    return lower + (sqrt_price_at_tick(tick + 1) - lower) * part // MILLITICKS


def _walked(before: dict[Asset, int], asset: Asset, draw: int, step: int, drift: int) -> int:
    price = before[asset]
    return price + draw * step // ONE_SIGMA + drift - (price - OPENING[asset]) // _PULL_MINUTES


def _drift(phase: Phase, minute: int) -> int:
    if phase.mood is Mood.TREND:
        return phase.direction * _TREND_DRIFT
    if phase.mood is Mood.SHOCK and minute - phase.start < _JUMP_MINUTES:
        return phase.direction * _JUMP_DRIFT
    return 0
