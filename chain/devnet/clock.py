"""Simulated time: how fast it runs against the wall's, and where it stands."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

REAL_TIME = 1.0


class Clock(Struct):
    wall: Callable[[], float]
    """Seconds that only grow, such as `time.monotonic`."""
    time: float
    """Simulated time when the wall's was last looked at."""
    chosen_speed: float
    """Simulated seconds per second of the wall; 0 is a pause."""
    _holds: dict[str, int] = field(default_factory=dict)
    _looked: float = 0

    def __post_init__(self) -> None:
        self._looked = self.wall()

    @property
    def holds(self) -> tuple[str, ...]:
        """Whose approvals are open, each of which lasts ten minutes of simulated time."""
        return tuple(self._holds)

    @property
    def speed(self) -> float:
        return min(self.chosen_speed, REAL_TIME) if self._holds else self.chosen_speed

    def now(self) -> int:
        return int(self.time + (self.wall() - self._looked) * self.speed)

    def set_speed(self, speed: float) -> None:
        self.set_time(self.now())
        self.chosen_speed = speed

    def set_time(self, time: float) -> None:
        self.time, self._looked = time, self.wall()

    def hold(self, reason: str, until: int) -> None:
        """Run at most in real time, until somebody lets go or until this simulated time."""
        self.set_time(self.now())
        self._holds[reason] = until

    def let_go(self, reason: str) -> None:
        self.set_time(self.now())
        self._holds.pop(reason, None)

    def end_holds(self, now: int) -> None:
        """Let go of what is over by the chain's own time, which approvals are judged by."""
        for reason in [reason for reason, until in self._holds.items() if until <= now]:
            self.let_go(reason)

    def wait_for(self, time: int) -> float:
        """Seconds of the wall until a simulated time comes; for ever while paused."""
        return max(time - self.now(), 0) / self.speed if self.speed else float("inf")
