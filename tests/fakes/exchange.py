"""An exchange on loopback: the embedded world's pages at a time of one's own, with ways to fail."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chain.devnet.exchange import DemoExchange
from chain.devnet.world.price_path import Calendar, Draws, SeededPath

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OPENS = 1_767_574_800
WEEK = 7 * 86_400


@cache
def demo_exchange(seed: int = 3_000) -> DemoExchange:
    draws = Draws(seed)
    return DemoExchange(SeededPath(draws, Calendar(draws)), OPENS)


@dataclass(frozen=True)
class Refusal:
    """What is answered instead of a page."""

    status: int
    content: bytes = b"{}"
    headers: tuple[str, ...] = ()


@dataclass
class ExchangeDouble:
    now: int = OPENS + WEEK + 1800
    pages: DemoExchange = field(default_factory=demo_exchange)
    faults: dict[str, Refusal] = field(default_factory=dict)
    """By path."""
    asked: list[str] = field(default_factory=list)
    _open: list[asyncio.StreamWriter] = field(default_factory=list)

    async def pass_time(self, seconds: float) -> None:
        """In place of sleeping: its clock goes on by whole seconds."""
        self.now += max(1, round(seconds))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in self._open:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                writer.write(self._answer(head.split(" ")[1]))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _answer(self, target: str) -> bytes:
        path = urlsplit(target).path
        self.asked.append(path)
        found = self.pages.answer(target, self.now)
        answer = self.faults.get(path) or (
            Refusal(404) if found is None else Refusal(found.status, found.content)
        )
        head = [f"HTTP/1.1 {answer.status} Said", f"content-length: {len(answer.content)}"]
        head += [*answer.headers, "content-type: application/json", "", ""]
        return "\r\n".join(head).encode() + answer.content
