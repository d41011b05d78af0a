"""When keys begin to count, and whether a hand pressed them, told by their times alone."""

from __future__ import annotations

READING_SECONDS = 1.0
"""How long a page stands before a key can answer it: whoever was typing meant something else."""

SMALLEST_GAP_SECONDS = 0.005
"""No hand presses two keys closer together; the letters of a paste arrive in one piece."""


class Keystrokes:
    """The times of the keys since a field was last empty."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._by_hand = True

    @property
    def by_hand(self) -> bool:
        return self._by_hand

    def press(self, when: float) -> None:
        if self._last is not None and when - self._last < SMALLEST_GAP_SECONDS:
            self._by_hand = False
        self._last = when

    def forget(self) -> None:
        self._last = None
        self._by_hand = True
