"""A node's double: `python -m tests.fakes.axl.node -config FILE`, as a real one is started.

Habits of a real node: a queue of 100 that drops the oldest, a message popped before it is written,
by any method, and a sender's id that is not the sender's key.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from contextlib import suppress
from dataclasses import asdict, replace
from math import inf
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.fakes.axl.overlay import Faults, Overlay
from tests.waiting import pauses

QUEUE = 100


class Node:
    def __init__(self, config: dict[str, object]) -> None:
        key = load_pem_private_key(Path(str(config["PrivateKeyPath"])).read_bytes(), None)
        self.key = key.public_key().public_bytes_raw().hex()  # type: ignore[union-attr]
        self.config = config
        self.queue: deque[tuple[str, bytes]] = deque(maxlen=QUEUE)
        self.overlay = Overlay(self.key, lambda sender, body: self.queue.append((sender, body)))

    async def run(self) -> None:
        for url in self._urls("Listen"):
            await self.overlay.listen(url)
        for url in self._urls("Peers"):
            self.overlay.dial(url)
        host, port = str(self.config["bridge_addr"]), int(str(self.config["api_port"]))
        server = await asyncio.start_server(self._serve, host, port)
        async with server:
            await server.serve_forever()

    def _urls(self, name: str) -> list[str]:
        urls = self.config.get(name, [])
        assert isinstance(urls, list)
        return urls

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, path, _ = first.split(" ")
                writer.write(self._answer(method, path, headers, body))
                await writer.drain()

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
        if path == "/recv":
            if not self.queue:
                return _http(204, b"")
            sender, message = self.queue.popleft()
            shown = sender[:28] + "f" * 36
            return _http(200, message, f"X-From-Peer-Id: {shown}")
        if path == "/send":
            to = headers.get("x-destination-peer-id", "")
            if len(to) != 64:
                return _http(400, b"bad id")
            if not self.overlay.send(to, body):
                return _http(502, b"unreachable")
            return _http(200, b"", f"X-Sent-Bytes: {len(body)}")
        if path == "/topology":
            return _http(200, json.dumps(self._topology()).encode())
        if path == "/faults" and method == "POST":
            # No real node has this: it is how tests make the way bad.
            self.overlay.faults = replace(Faults(), **json.loads(body))
            return _http(200, json.dumps(asdict(self.overlay.faults)).encode())
        return _http(404, b"")

    def _topology(self) -> dict[str, object]:
        nodes = sorted({self.key, *self.overlay.known})
        return {
            "our_ipv6": "200::1",
            "our_public_key": self.key,
            "peers": [
                {"uri": "tls://", "up": True, "inbound": False, "public_key": key}
                for key in sorted(self.overlay.links)
            ],
            "tree": [{"public_key": key, "parent": self.key, "sequence": 1} for key in nodes],
        }


def _http(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def _end_with_parent() -> None:
    parent = os.getppid()
    loop, waits = asyncio.get_running_loop(), pauses(most=inf)

    def look() -> None:
        if os.getppid() != parent:
            os._exit(0)
        loop.call_later(next(waits), look)

    look()


async def main(config: dict[str, object]) -> None:
    _end_with_parent()
    await Node(config).run()


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[sys.argv.index("-config") + 1]).read_bytes())))
