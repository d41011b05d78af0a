"""How often an endpoint may be asked, learned from it: more call by call, half at every limit."""

from __future__ import annotations

import math
from collections import deque

_MEASURED_SECONDS = 1.0
_LEAST_RATE = 0.5
_RATE_STEP = 0.5
"""What every answered request adds to the calls a second."""


class RequestPace:
    """Unlimited until the endpoint first says that it was asked too often."""

    def __init__(self, first_rest: float, longest_rest: float) -> None:
        self._first_rest = first_rest
        self._longest_rest = longest_rest
        self.rate = math.inf
        """Calls a second."""
        self.limits_in_a_row = 0
        self._free_at = 0.0
        self._sent: deque[tuple[float, int]] = deque()

    def wait(self, now: float) -> float:
        """Seconds until the next request; 0 when it may go out now."""
        return max(0.0, self._free_at - now)

    def sent(self, calls: int, now: float) -> None:
        self._sent.append((now, calls))
        self._forget(now)
        if self.rate < math.inf:
            self._free_at = max(now, self._free_at) + calls / self.rate

    def answered(self) -> None:
        self.limits_in_a_row = 0
        self.rate += _RATE_STEP

    def limited(self, now: float, retry_after: float | None) -> None:
        """Go half as fast after a rest, which doubles while nothing is answered."""
        if self.limits_in_a_row and now < self._free_at:
            return  # one of several requests that met the same limit
        self._forget(now)
        measured = sum(calls for _, calls in self._sent) / _MEASURED_SECONDS
        self.rate = max(_LEAST_RATE, min(self.rate, max(1.0, measured)) / 2)
        rest = self._first_rest * 2.0 ** min(self.limits_in_a_row, 16)
        self.limits_in_a_row += 1
        self._free_at = now + min(rest if retry_after is None else retry_after, self._longest_rest)

    def _forget(self, now: float) -> None:
        while self._sent and self._sent[0][0] < now - _MEASURED_SECONDS:
            self._sent.popleft()
