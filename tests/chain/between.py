"""A door in front of the embedded chain: counts what comes through, and can meddle with it."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx2

Meddler = Callable[[dict[str, Any]], dict[str, Any] | None]


class Door:
    """An HTTP server on a socket of its own; requests are counted as they arrive there."""

    def __init__(self, upstream: str, meddle: Meddler | None = None) -> None:
        self._upstream = upstream
        self._http = httpx2.AsyncClient(timeout=60, verify=False)
        self._writers: set[asyncio.StreamWriter] = set()
        self.meddle = meddle
        """Answers a call in the node's place, or leaves it alone."""
        self.requests = 0
        self.methods: list[str] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._http.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode().lower().splitlines()
                length = next(line for line in lines if line.startswith("content-length:"))
                body = await reader.readexactly(int(length.partition(":")[2]))
                self.requests += 1
                answer = await self._answered(body)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(f"content-length: {len(answer)}\r\n\r\n".encode() + answer)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

    async def _answered(self, body: bytes) -> bytes:
        asked = json.loads(body)
        calls = asked if isinstance(asked, list) else [asked]
        answers = []
        for call in calls:
            self.methods.append(call["method"])
            told = self.meddle(call) if self.meddle else None
            if told is None:
                # One by one and in order, as a node works through a batch.
                told = (await self._http.post(self._upstream, json=call)).json()
            answers.append({"jsonrpc": "2.0", **told, "id": call["id"]})
        return json.dumps(answers if isinstance(asked, list) else answers[0]).encode()


def error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def refuse_wide_logs(most: int, head: int) -> Meddler:
    """As a public node does: logs of at most so many blocks at once."""

    def meddle(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] != "eth_getLogs":
            return None
        first, last = (call["params"][0][name] for name in ("fromBlock", "toBlock"))
        until = head if last == "latest" else int(last, 16)
        if until - int(first, 16) + 1 > most:
            return error(-32005, f"query exceeds max block range {most}")
        return None

    return meddle


def without_archive(head: int, kept: int) -> Meddler:
    """As a full node does: the state of old blocks is gone."""

    def meddle(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] == "eth_call" and isinstance(call["params"][1], str):
            at = call["params"][1]
            if at.startswith("0x") and int(at, 16) < head - kept:
                return error(-32000, "missing trie node 0abc (path ) state is not available")
        return None

    return meddle
