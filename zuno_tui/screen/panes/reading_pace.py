"""How fast a debate is shown: each turn stays the last one for as long as it takes to read."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.present.views import TurnView

LEAST_SECONDS = 0.5
MOST_SECONDS = 5.0
"""For one turn: whoever reads slower scrolls back, nothing is taken away."""
_WORDS_A_ROW = 4
"""A row of a table is looked over, not read."""


class ReadingPace:
    """Holds turns back until those before them could be read; shows them at once when it is off."""

    def __init__(self, words_a_minute: int, clock: Callable[[], float]) -> None:
        self._words_a_minute = words_a_minute
        self._clock = clock
        self._waiting: deque[TurnView] = deque()
        self._free_at = 0.0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def seconds_left(self) -> float:
        """Until the last turn that is shown could be read."""
        return max(0.0, self._free_at - self._clock()) if self._words_a_minute else 0.0

    def hear(self, turn: TurnView, *, read_already: bool = False) -> list[TurnView]:
        """The turns to show now that this one was heard."""
        if not self._words_a_minute:
            return [turn]
        self._waiting.append(turn)
        if read_already and len(self._waiting) == 1:
            self._free_at = self._clock()
        return self.due()

    def due(self) -> list[TurnView]:
        """The turns whose time has come."""
        shown = []
        while self._waiting and not self.seconds_left:
            turn = self._waiting.popleft()
            shown.append(turn)
            self._free_at = self._clock() + self._reading_seconds(turn)
        return shown

    def all_at_once(self) -> list[TurnView]:
        """Everything that waits; what comes next is shown as it comes."""
        shown = list(self._waiting)
        self.forget()
        return shown

    def forget(self) -> None:
        self._waiting.clear()
        self._free_at = 0.0

    def _reading_seconds(self, turn: TurnView) -> float:
        rows = 0 if turn.table is None else len(turn.table.rows)
        words = len(turn.text.split()) + _WORDS_A_ROW * rows
        return min(max(60 * words / self._words_a_minute, LEAST_SECONDS), MOST_SECONDS)
