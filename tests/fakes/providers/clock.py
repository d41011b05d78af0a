"""A clock that goes on when somebody waits for it, so that limits per second cost no time."""

import asyncio
from dataclasses import dataclass

START = 1_790_000_000.0


@dataclass
class VirtualClock:
    now: float = START
    waited: float = 0.0

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waited += seconds
        await asyncio.sleep(0)
