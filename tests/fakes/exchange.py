"""An exchange on loopback: the embedded world's pages at a time of one's own, with ways to fail."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from chain.devnet.exchange import DemoExchange
from chain.devnet.world.price_path import Calendar, Draws, SeededPath

_ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
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
    url: str = ""
    """While it runs."""
    streams: list[str] = field(default_factory=list)
    """Where somebody listens, each time it was opened."""
    _open: list[asyncio.StreamWriter] = field(default_factory=list)
    _listeners: list[asyncio.StreamWriter] = field(default_factory=list)
    _opened: asyncio.Condition = field(default_factory=asyncio.Condition)
    said: list[str] = field(default_factory=list)
    """What listeners said on their streams."""

    def tell(self, *messages: str) -> None:
        """To whoever listens, as frames of a web socket."""
        for message in messages:
            content = message.encode()
            short = len(content) < 126
            size = bytes([len(content)]) if short else b"\x7e" + len(content).to_bytes(2, "big")
            for writer in self._listeners:
                writer.write(b"\x81" + size + content)

    def break_streams(self) -> None:
        for writer in self._listeners:
            writer.transport.abort()
        self._listeners.clear()

    async def listened(self, times: int = 1) -> None:
        """Until so many streams were opened."""
        async with asyncio.timeout(60), self._opened:
            await self._opened.wait_for(lambda: len(self.streams) >= times)

    async def _streaming(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """A stream that was asked for, until it ends; False for any other question."""
        lines = [line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line]
        key = {name.lower(): value for name, value in lines}.get("sec-websocket-key")
        if key is None:
            return False
        agreed = base64.b64encode(hashlib.sha1(f"{key}{_ACCEPTED}".encode()).digest()).decode()
        told = ["HTTP/1.1 101 Switching", "upgrade: websocket", "connection: upgrade"]
        told += [f"sec-websocket-accept: {agreed}", "", ""]
        writer.write("\r\n".join(told).encode())
        self._listeners.append(writer)
        async with self._opened:
            self.streams.append(head.split(" ")[1])
            self._opened.notify_all()
        while (head_bytes := await reader.readexactly(2))[0] != 0x88:
            size = head_bytes[1] & 127
            if size == 126:
                size = int.from_bytes(await reader.readexactly(2), "big")
            mask, masked = await reader.readexactly(4), await reader.readexactly(size)
            text = bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked))
            self.said.append(text.decode("utf-8", "replace"))
        return True

    async def pass_time(self, seconds: float) -> None:
        """In place of sleeping: its clock goes on by whole seconds."""
        self.now += max(1, round(seconds))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self.url
        finally:
            server.close()
            for writer in self._open:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if await self._streaming(head, reader, writer):
                    break
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
