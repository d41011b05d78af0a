"""A real HTTP server on a real socket that misbehaves exactly as it is told to."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.fakes.honest_node import HonestNode

SECRET = "s3cr3t-api-key-that-must-never-be-shown"


@dataclass(frozen=True)
class Asked:
    """One HTTP request as it arrived."""

    target: str
    headers: dict[str, str]
    calls: list[dict[str, object]]
    is_batch: bool


@dataclass(frozen=True)
class Connection:
    """The server's end of the socket, for writing whatever a fault likes."""

    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)  # draining alone may never let the client's side run

    async def respond(
        self,
        body: bytes,
        *,
        status: str = "200 OK",
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send("\r\n".join((*lines, "", "")).encode() + body)

    def reset(self) -> None:
        """Break off without saying goodbye, as a crashed machine does."""
        self.writer.transport.abort()


Behaviour = Callable[[Asked, Connection, HonestNode], Awaitable[None]]


async def honest(asked: Asked, connection: Connection, node: HonestNode) -> None:
    """The right answer to every call, or to none where the batch is larger than the node takes."""
    if node.most_in_batch is not None and len(asked.calls) > node.most_in_batch:
        refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batch"}}
        await connection.respond(json.dumps(refusal).encode())
        return
    replies = [node.answer(call) for call in asked.calls]
    await connection.respond(json.dumps(replies if asked.is_batch else replies[0]).encode())


@dataclass
class FaultServer:
    behaviour: Behaviour = honest
    node: HonestNode = field(default_factory=HonestNode)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    _server: asyncio.Server | None = None
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """With a key in it, as providers have: it must appear in no error and no log."""
        return f"http://127.0.0.1:{self.port}/v2/{SECRET}?token={SECRET}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # A client that hangs up early is what most faults are about; a cancel is our own exit.
            with contextlib.suppress(
                ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
            ):
                while True:
                    asked = await _read(reader)
                    self.asked.append(asked)
                    await self.behaviour(asked, Connection(writer), self.node)
        finally:
            self._connections.discard(task)
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = json.loads(await reader.readexactly(int(headers["content-length"])))
    calls = body if isinstance(body, list) else [body]
    return Asked(request_line.split(" ")[1], headers, calls, isinstance(body, list))
