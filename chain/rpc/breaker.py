"""The circuit breaker of one endpoint: after faults in a row it rests, then one probe decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.rpc.limits import Limits


class Breaker:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.faults = 0
        """In a row, since the last success."""
        self._rests_until = 0.0
        self._probing = False

    def wait(self, now: float) -> float:
        """Seconds until a try is welcome; 0 when it is welcome now."""
        if self._probing:
            return self._limits.rest_seconds
        return max(0.0, self._rests_until - now)

    def admit(self, now: float) -> bool:
        """Take the right to one try; after a rest only one try at a time is let through."""
        if self.wait(now) > 0:
            return False
        self._probing = self.faults >= self._limits.faults_to_rest
        return True

    def succeeded(self) -> None:
        self.faults = 0
        self._probing = False
        self._rests_until = 0.0

    def failed(self, now: float) -> None:
        self.faults += 1
        self._probing = False
        beyond = self.faults - self._limits.faults_to_rest
        if beyond >= 0:
            rest = self._limits.rest_seconds * 2.0 ** min(beyond, 16)
            self._rests_until = now + min(rest, self._limits.most_rest_seconds)

    def released(self) -> None:
        """A try that ended without telling anything, such as one that was cancelled."""
        self._probing = False
