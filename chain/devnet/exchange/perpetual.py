"""A perpetual contract of the embedded world: its price is the path the pools follow.

Volume, book, funding and open interest are made up around that path, decided by the same seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from chain.base.units import HOUR
from chain.devnet.world.draws import ONE_SIGMA
from chain.devnet.world.phases import Mood

if TYPE_CHECKING:
    from chain.devnet.world.price_path import Asset, SeededPath

MINUTE = 60
FUNDING_HOURS = 8

_MINUTE_VOLUME = 400.0
"""Coins a quiet minute trades."""
_MOOD_VOLUME = {Mood.CALM: 1.0, Mood.TREND: 1.8, Mood.SHOCK: 6.0}
_MOOD_INTEREST = {Mood.CALM: 0.0004, Mood.TREND: 0.004, Mood.SHOCK: -0.03}
"""What an hour adds to open interest: a trend draws positions in, a shock throws them out."""
_OPENING_INTEREST = 400_000.0
_INTEREST_PULL = 0.01
_MOST_FUNDING = 0.00075
_LEVEL_QUANTITY = 6.0
_PRICE_STEP = 0.01
_WICK = 0.35
"""How far a minute's extremes reach beyond its ends, on average, of its own length."""


class MinuteBar(NamedTuple):
    open: float
    high: float
    low: float
    close: float
    volume: float
    taker_buy: float


class Perpetual(Struct):
    """One contract; every number is a function of the seed and the time alone."""

    path: SeededPath
    opens: int
    """When the world's market opened, in Unix seconds."""
    asset: Asset
    _interest: list[float] = field(default_factory=lambda: [_OPENING_INTEREST])
    _bars: dict[int, MinuteBar] = field(default_factory=dict)

    def price(self, minute: int) -> float:
        """At the end of this minute, in dollars."""
        return float(1.0001 ** (self.path.at(max(minute, 0))[self.asset] / 1000))

    def minute_of(self, time: int) -> int:
        return max((time - self.opens) // MINUTE, 0)

    def bar(self, minute: int) -> MinuteBar:
        """The trades between the end of the minute before and the end of this one."""
        if minute not in self._bars:
            self._bars[minute] = self._made(minute)
        return self._bars[minute]

    def _made(self, minute: int) -> MinuteBar:
        start, end = self.price(minute - 1), self.price(minute)
        reach = abs(end - start) + start * 0.0001
        above, below = (self._share(f"{side} wick", minute) * reach * _WICK * 2 for side in "↑↓")
        mood = self.path.phase_at(minute).mood
        move = (end / start - 1) * 2_000
        volume = _MINUTE_VOLUME * _MOOD_VOLUME[mood] * (0.5 + self._share("volume", minute))
        volume *= 1 + min(abs(move), 5.0)
        lean = 0.5 + max(-0.3, min(0.3, move * 0.08)) + (self._share("taker", minute) - 0.5) * 0.2
        return MinuteBar(
            start,
            max(start, end) + above,
            min(start, end) - below,
            end,
            volume,
            volume * lean,
        )

    def candle(self, time: int, seconds: int, now: int) -> MinuteBar | None:
        """The minutes of an interval up to now as one bar; None before the market opened."""
        first, last = self.minute_of(time) + 1, self.minute_of(min(time + seconds, now))
        if time + seconds <= self.opens or last < first:
            return None
        bars = [self.bar(minute) for minute in range(first, last + 1)]
        return MinuteBar(
            bars[0].open,
            max(bar.high for bar in bars),
            min(bar.low for bar in bars),
            bars[-1].close,
            sum(bar.volume for bar in bars),
            sum(bar.taker_buy for bar in bars),
        )

    def levels(self, time: int, side: int, count: int) -> list[tuple[float, float]]:
        """Prices and quantities above (1) or below (−1) the mark, the best first."""
        minute = self.minute_of(time)
        mark, lean = self.price(minute), self._lean(minute)
        best = round(mark / _PRICE_STEP) * _PRICE_STEP
        found = []
        for place in range(count):
            away = (1 + place + place * place // 40) * _PRICE_STEP
            drawn = self._share(f"level {side} {place}", minute)
            quantity = _LEVEL_QUANTITY * (0.3 + 1.4 * drawn) * (1 - side * lean)
            found.append((best + side * away, quantity))
        return found

    def funding_rate(self, time: int) -> float:
        """For the interval that ends at this time: longs pay more after a rise."""
        minute = self.minute_of(time)
        risen = self.price(minute) / self.price(minute - FUNDING_HOURS * 60) - 1
        return max(-_MOST_FUNDING, min(_MOST_FUNDING, 0.0001 + risen * 0.01))

    def open_interest(self, time: int) -> float:
        """Coins in open contracts at the last full hour."""
        hour = max(time - self.opens, 0) // HOUR
        while len(self._interest) <= hour:
            before, minute = self._interest[-1], (len(self._interest)) * 60
            drawn = self.path.draws.normal("interest", minute) / ONE_SIGMA * 0.001
            grown = _MOOD_INTEREST[self.path.phase_at(minute).mood] + drawn
            pull = _INTEREST_PULL * (before / _OPENING_INTEREST - 1)
            self._interest.append(before * (1 + grown - pull))
        return self._interest[hour]

    def long_accounts(self, time: int) -> float:
        minute = self.minute_of(time)
        risen = self.price(minute) / self.price(minute - 24 * 60) - 1
        return max(0.2, min(0.8, 0.55 - risen * 2))

    def _lean(self, minute: int) -> float:
        """From −1 to 1: which side of the book is fuller after the last quarter of an hour."""
        risen = self.price(minute) / self.price(minute - 15) - 1
        return max(-0.6, min(0.6, risen * 60))

    def _share(self, purpose: str, minute: int) -> float:
        return self.path.draws.below(1 << 20, f"{self.asset} {purpose}", minute) / (1 << 20)
