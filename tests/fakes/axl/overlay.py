"""The links between doubles: messages go straight to a neighbour, or by way of the others."""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from urllib.parse import urlsplit

from tests.waiting import pauses

MOST_HOPS = 8
_LENGTH = 4


@dataclass
class Faults:
    """What happens to messages on their way out, each with its share."""

    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    """Held back for up to a tenth of a second, so that later ones pass it."""
    delay: float = 0.0
    """Seconds for every message."""
    flip: float = 0.0
    """One bit is changed."""


@dataclass
class Overlay:
    key: str
    deliver: Callable[[str, bytes], None]
    faults: Faults = field(default_factory=Faults)
    links: dict[str, asyncio.StreamWriter] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    async def listen(self, url: str) -> None:
        place = urlsplit(url)
        await asyncio.start_server(self._accepted, place.hostname, place.port)

    def dial(self, url: str) -> None:
        self._start(self._keep_dialling(url))

    def send(self, to: str, body: bytes) -> bool:
        """Whether the message was handed to the stack: to arrive is another matter."""
        if to != self.key and to not in self.known:
            return False
        if self._random.random() < self.faults.drop:
            return True
        if self._random.random() < self.faults.flip and body:
            place = self._random.randrange(len(body))
            body = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
        copies = 2 if self._random.random() < self.faults.duplicate else 1
        for _ in range(copies):
            wait = self.faults.delay
            if self._random.random() < self.faults.reorder:
                wait += self._random.uniform(0, 0.1)
            if wait:
                asyncio.get_running_loop().call_later(wait, self._route, to, self.key, body, 0)
            else:
                self._route(to, self.key, body, 0)
        return True

    def _route(self, to: str, sender: str, body: bytes, hops: int) -> None:
        if to == self.key:
            self.deliver(sender, body)
            return
        message = json.dumps({"to": to, "from": sender, "hops": hops + 1}).encode() + b"\n" + body
        if to in self.links:
            self._write(to, message)
        elif hops < MOST_HOPS:
            for neighbour in tuple(self.links):
                if neighbour != sender:
                    self._write(neighbour, message)

    def _write(self, neighbour: str, message: bytes) -> None:
        with suppress(Exception):
            self.links[neighbour].write(len(message).to_bytes(_LENGTH, "big") + message)

    async def _keep_dialling(self, url: str) -> None:
        place = urlsplit(url)
        waits = pauses(most=inf)
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                await self._link(reader, writer)
                waits = pauses(most=inf)
            await asyncio.sleep(next(waits))

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            await self._link(reader, writer)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.key.encode())
        neighbour = (await reader.readexactly(64)).decode()
        self.links[neighbour] = writer
        self._learn({neighbour})
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
                head, _, body = (await reader.readexactly(length)).partition(b"\n")
                told = json.loads(head)
                if "known" in told:
                    self._learn(set(told["known"]))
                else:
                    self._route(told["to"], told["from"], body, told["hops"])
        finally:
            if self.links.get(neighbour) is writer:
                del self.links[neighbour]
                self.known.discard(neighbour)
            writer.close()

    def _learn(self, keys: set[str]) -> None:
        new = keys - self.known - {self.key}
        self.known |= new
        if new:
            message = json.dumps({"known": sorted({self.key, *self.known})}).encode() + b"\n"
            for neighbour in tuple(self.links):
                self._write(neighbour, message)

    def _start(self, work) -> None:  # type: ignore[no-untyped-def]
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
