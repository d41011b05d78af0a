"""The market's moods: calm, trend and shock, one after the other for as long as it runs."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from chain.devnet.world.draws import Draws


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
_MINUTES = {
    Mood.CALM: (14 * 60, 26 * 60),
    Mood.TREND: (4 * 60, 10 * 60),
    Mood.SHOCK: (60, 120),
}


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
