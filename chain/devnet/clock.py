"""Simulated time: how fast it runs against the wall's, and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.devnet.node.node import BLOCK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(Struct):
    wall: Callable[[], float]
    """Seconds that only grow, such as `time.monotonic`."""
    time: float
    """Simulated time when the wall's was last looked at."""
    speed: float
    """Simulated seconds per second of the wall; 0 is a pause."""
    _looked: float = 0

    def __post_init__(self) -> None:
        self._looked = self.wall()

    def now(self) -> int:
        return int(self.time + (self.wall() - self._looked) * self.speed)

    def next_block(self, head_time: int) -> int:
        """The time of a block somebody asks for: now, or a block later while time stands still."""
        return self.now() if self.speed else head_time + BLOCK_SECONDS

    def set_speed(self, speed: float) -> None:
        self.set_time(self.now())
        self.speed = speed

    def set_time(self, time: float) -> None:
        self.time, self._looked = time, self.wall()

    def wait_for(self, time: int) -> float:
        """Seconds of the wall until a simulated time comes; for ever while paused."""
        return max(time - self.now(), 0) / self.speed if self.speed else float("inf")
