"""Where prices go outside the pools: a seeded walk through calm, trend and shock."""

import struct
from bisect import bisect_right
from enum import StrEnum
from hashlib import blake2b
from itertools import count

from msgspec import Struct, field

from chain.math.ticks import sqrt_price_at_tick

ONE_SIGMA = 1 << 16
"""One standard deviation of a `normal` draw."""

_TWELVE = struct.Struct(">12H")
_CENTRE = 12 * (ONE_SIGMA - 1) // 2


class Draws(Struct, frozen=True):
    """Each draw is a hash of seed, purpose and index: none depends on how many came before."""

    seed: int

    def below(self, limit: int, purpose: str, index: int) -> int:
        """A whole number from 0 to `limit` − 1."""
        return int.from_bytes(self._digest(purpose, index), "big") % limit

    def between(self, lowest: int, highest: int, purpose: str, index: int) -> int:
        """A whole number from `lowest` to `highest`, both included."""
        return lowest + self.below(highest - lowest + 1, purpose, index)

    def sign(self, purpose: str, index: int) -> int:
        return 1 if self.below(2, purpose, index) else -1

    def normal(self, purpose: str, index: int) -> int:
        """A nearly normal draw in units of `ONE_SIGMA`, from integers alone.

        The sum of twelve uniforms has a variance of one, so libm and its last digit stay out.
        """
        total: int = sum(_TWELVE.unpack(self._digest(purpose, index)))
        return total - _CENTRE

    def _digest(self, purpose: str, index: int) -> bytes:
        return blake2b(f"{self.seed}/{purpose}/{index}".encode(), digest_size=_TWELVE.size).digest()


class Mood(StrEnum):
    CALM = "calm"
    TREND = "trend"
    SHOCK = "shock"


class Phase(Struct, frozen=True):
    mood: Mood
    start: int
    """In minutes since the market opened."""
    minutes: int
    direction: int
    """Where a trend leads and a shock jumps: up (1) or down (−1)."""

    @property
    def end(self) -> int:
        return self.start + self.minutes


_CYCLE = (Mood.CALM, Mood.TREND, Mood.CALM, Mood.SHOCK)
_MINUTES = {Mood.CALM: (14 * 60, 26 * 60), Mood.TREND: (4 * 60, 10 * 60), Mood.SHOCK: (60, 120)}


class Calendar(Struct):
    """The phases a seed decides, made as far as somebody has asked."""

    draws: Draws
    _phases: list[Phase] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def at(self, minute: int) -> Phase:
        while not self._ends or self._ends[-1] <= minute:
            self._append()
        return self._phases[bisect_right(self._ends, minute)]

    def until(self, minute: int) -> tuple[Phase, ...]:
        """The phases that begin before this minute."""
        self.at(minute)
        return tuple(phase for phase in self._phases if phase.start < minute)

    def _append(self) -> None:
        index = len(self._phases)
        mood = _CYCLE[index % len(_CYCLE)]
        lowest, highest = _MINUTES[mood]
        phase = Phase(
            mood=mood,
            start=self._ends[-1] if self._ends else 0,
            minutes=self.draws.between(lowest, highest, "phase length", index),
            direction=self.draws.sign("phase direction", index),
        )
        self._phases.append(phase)
        self._ends.append(phase.end)


# Prices are logarithms in thousandths of a tick, whole numbers throughout, so that every machine
# computes the same walk to the last digit and makes the same chain from it.
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

# Milliticks a minute, one standard deviation: 0.8, 1.2 and 8 % a day for ether.
_ETHER_STEP = {Mood.CALM: 2_110, Mood.TREND: 3_160, Mood.SHOCK: 21_080}
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
_SETTLED_MINUTES = 2 * 60
_WANDERING_MINUTES = 5 * 24 * 60
_WANDERING = 350 * MILLITICKS


class SeededPath(Struct):
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

    def early_extremes(self) -> tuple[int, int]:
        """The minutes of ether's highest and lowest price in the first days."""
        minutes = range(_SETTLED_MINUTES, _WANDERING_MINUTES)
        high = max(minutes, key=lambda minute: self.at(minute)[Asset.ETHER])
        low = min(minutes, key=lambda minute: self.at(minute)[Asset.ETHER])
        return high, low

    def _next(self, minute: int) -> dict[Asset, int]:
        before = self._minutes[-1]
        phase = self.calendar.at(minute)
        ether = self.draws.normal("ether", minute)
        bitcoin = (4 * ether + 3 * self.draws.normal("bitcoin", minute)) // 5
        tether = self.draws.normal("tether", minute) * _TETHER_STEP[phase.mood] // ONE_SIGMA
        step, drift = _ETHER_STEP[phase.mood] * 3 // 4, _drift(phase, minute) // 2
        return {
            Asset.DOLLAR: 0,
            Asset.ETHER: _ether_after(before[Asset.ETHER], ether, phase, minute),
            Asset.BITCOIN: _walked(before[Asset.BITCOIN], Asset.BITCOIN, bitcoin, step, drift),
            Asset.TETHER: before[Asset.TETHER]
            + tether
            - before[Asset.TETHER] // _TETHER_PULL_MINUTES,
        }


def seeded_path(seed: int) -> SeededPath:
    """The path of a seed: the first of its walks that wanders both ways in the first days.

    A wallet with positions left behind above and below the market needs a market that moved.
    """
    for attempt in count():
        draws = Draws(seed * 1_000 + attempt)
        if _wanders(draws):
            return SeededPath(draws, Calendar(draws))
    raise AssertionError("count never ends")


def sqrt_price_at(milliticks: int) -> int:
    """√price as Q64.96 between ticks, interpolated (exact to a billionth)."""
    tick, part = divmod(milliticks, MILLITICKS)
    lower = sqrt_price_at_tick(tick)
    return lower + (sqrt_price_at_tick(tick + 1) - lower) * part // MILLITICKS


def _wanders(draws: Draws) -> bool:
    """Walk through the week with ether alone: most walks are refused, and the others are slow."""
    calendar, ether = Calendar(draws), OPENING[Asset.ETHER]
    week = [ether]
    for minute in range(1, _WEEK_MINUTES + 1):
        ether = _ether_after(ether, draws.normal("ether", minute), calendar.at(minute), minute)
        week.append(ether)
    early = week[_SETTLED_MINUTES:_WANDERING_MINUTES]
    return min(early) < ether - _WANDERING and max(early) > ether + _WANDERING


def _ether_after(price: int, draw: int, phase: Phase, minute: int) -> int:
    return _walked(price, Asset.ETHER, draw, _ETHER_STEP[phase.mood], _drift(phase, minute))


def _walked(price: int, asset: Asset, draw: int, step: int, drift: int) -> int:
    return price + draw * step // ONE_SIGMA + drift - (price - OPENING[asset]) // _PULL_MINUTES


def _drift(phase: Phase, minute: int) -> int:
    if phase.mood is Mood.TREND:
        return phase.direction * _TREND_DRIFT
    if phase.mood is Mood.SHOCK and minute - phase.start < _JUMP_MINUTES:
        return phase.direction * _JUMP_DRIFT
    return 0
