"""One request from its first message to its end, as the one who asked sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, Protocol

from agents.bus.envelope import CLI, Envelope, Role
from agents.bus.worker import Services


class Observer(Protocol):
    """Sees every envelope of a flow before it is handled, in order; one that raises ends it."""

    def __call__(self, envelope: Envelope, /) -> None: ...


class ProseListener(Protocol):
    """Hears a model's words as they are written."""

    def __call__(self, role: Role, text: str, /) -> None: ...


class Flow(Generic[Services]):
    """Iterate over it for what reaches the desk; the last envelope is a plan or a failure."""

    def __init__(
        self,
        request_id: str,
        services: Services,
        observers: tuple[Observer, ...],
        on_prose: ProseListener | None,
        *,
        inbox: int,
        seconds: float,
    ) -> None:
        self.request_id = request_id
        self.services = services
        self.seconds = seconds
        """How long it may take once it has begun."""
        self.over = False
        self.began_at: float | None = None
        """When an agent first found something out or passed something on, by the loop's clock."""
        self.stage = CLI
        """Whose turn it is: the last one somebody wrote to."""
        self.last_kind = ""
        self.activity = 0
        self.working = 0
        """Messages that agents took and have not finished."""
        self.under_way = 0
        """Structural messages sent and not yet handled."""
        self.remote_messages = 0
        """Messages to be recorded that came from agents outside this process."""
        self.posted: set[str] = set()
        """Content ids of what was said in this process to the one who asked."""
        self.speaking = asyncio.Lock()
        """Held while a message is recorded and handed over, so that both happen in one order."""
        self.remote_queue: asyncio.Queue[Envelope] = asyncio.Queue()
        self.tasks: list[asyncio.Task[None]] = []
        """What runs for as long as the flow does."""
        self._observers = observers
        self._on_prose = on_prose
        self._inbox: asyncio.Queue[Envelope] = asyncio.Queue()
        self._most = inbox
        self._seen: set[str] = set()
        self._outcome: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()

    async def outcome(self) -> Envelope:
        """The envelope that ended it."""
        return await asyncio.shield(self._outcome)

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        while not (self._outcome.done() and self._inbox.empty()):
            yield await self._inbox.get()

    def observe(self, envelope: Envelope) -> None:
        for observer in self._observers:
            observer(envelope)

    def sent(self, envelope: Envelope, *, final: bool) -> None:
        """A structural message is on its way: it is its recipient's turn."""
        self.under_way += 1
        if self.began_at is None and envelope.sender != CLI:
            self.began_at = asyncio.get_running_loop().time()
        # What an agent tells the desk on the way leaves the turn with it.
        if final or envelope.recipient != CLI:
            self.stage = envelope.recipient
            self.last_kind = envelope.kind

    def seconds_left(self) -> float:
        """Of the time it has once it has begun."""
        if self.began_at is None:
            return self.seconds
        return self.seconds - (asyncio.get_running_loop().time() - self.began_at)

    def is_new(self, envelope: Envelope) -> bool:
        known = len(self._seen)
        self._seen.add(envelope.content_id)
        return len(self._seen) > known

    def deliver(self, envelope: Envelope, *, droppable: bool) -> bool:
        if droppable and self._inbox.qsize() >= self._most:
            return False
        self._inbox.put_nowait(envelope)
        return True

    def spoken(self, role: Role, text: str) -> None:
        if self._on_prose is not None and not self.over:
            self._on_prose(role, text)

    def finish(self, envelope: Envelope) -> None:
        self._outcome.set_result(envelope)
        self._inbox.put_nowait(envelope)
