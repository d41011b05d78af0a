"""Python's full garbage collections, when nobody types: each takes as long as several keys."""

import gc
from collections.abc import Callable

LOOK_SECONDS = 2.0
_QUIET_SECONDS = 3.0
_LEAST_SECONDS = 20.0
_MOST_SECONDS = 120.0
"""Without a quiet moment for this long, memory comes before the next key."""
_NEVER = 1_000_000_000


class FullCollections:
    """Collects what the quick collections leave behind, in the pauses of whoever types."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._key_at = self._collected_at = clock()
        self._spared = False

    def take_over(self) -> None:
        """From here on Python makes none by itself; the quick ones it goes on making."""
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, _NEVER)

    def note_key(self) -> None:
        self._key_at = self._clock()

    def look(self) -> bool:
        """Collect if it is time; whether it was."""
        now = self._clock()
        since = now - self._collected_at
        quiet = now - self._key_at >= _QUIET_SECONDS
        if since < _MOST_SECONDS and not (quiet and since >= _LEAST_SECONDS):
            return False
        gc.collect()
        if not self._spared:
            # What the desk was opened with stays to its end, and need not be looked through again.
            gc.freeze()
            self._spared = True
        self._collected_at = self._clock()
        return True
