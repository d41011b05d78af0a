"""A transport that behaves as badly as a mesh may: it loses, repeats and reorders, by a seed."""

import asyncio
from collections.abc import Callable
from random import Random

from agents.bus.envelope import Envelope, Role
from agents.bus.worker import EnvelopeTransport
from tests.virtual_time import pass_time

DELAY_SECONDS = 0.002


class FaultyTransport:
    def __init__(
        self,
        inner: EnvelopeTransport,
        random: Random,
        *,
        lose: float = 0.0,
        repeat: float = 0.0,
        reorder: float = 0.0,
        only: Callable[[Envelope], bool] = lambda _: True,
    ) -> None:
        self._inner = inner
        self._random = random
        self._lose = lose
        self._repeat = repeat
        self._reorder = reorder
        self._only = only
        self._under_way: set[asyncio.Task[None]] = set()
        self.lost: list[Envelope] = []
        self.repeated: list[Envelope] = []
        self.delayed: list[Envelope] = []

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        if not self._only(envelope):
            return await self._inner.send(envelope, droppable=droppable)
        if self._random.random() < self._lose:
            self.lost.append(envelope)
            return True
        if self._random.random() < self._repeat:
            self.repeated.append(envelope)
            await self._inner.send(envelope, droppable=droppable)
        if self._random.random() < self._reorder:
            self.delayed.append(envelope)
            task = asyncio.create_task(self._later(envelope, droppable=droppable))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            return True
        return await self._inner.send(envelope, droppable=droppable)

    async def receive(self, role: Role) -> Envelope:
        return await self._inner.receive(role)

    async def arrived(self) -> None:
        """Wait for what is still delayed."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _later(self, envelope: Envelope, *, droppable: bool) -> None:
        await pass_time(DELAY_SECONDS)
        await self._inner.send(envelope, droppable=droppable)
