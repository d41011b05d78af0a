"""HTTP/1.1 for programs on this machine: small JSON posts, an upgrade, or a page to read."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

import h11
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MAX_BODY = 10 * 1024 * 1024
MAX_DISCARDED = 64 * 1024 * 1024
MAX_HEADERS = 64 * 1024
IDLE_SECONDS = 75.0
READ_BYTES = 64 * 1024

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
PORT_SUFFIX = re.compile(r":\d+$")


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Body(Struct, frozen=True):
    content: bytes
    is_whole: bool


class ClientConnection:
    """One client's connection: requests are answered in order until either side closes it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        respond: Callable[[bytes], Awaitable[bytes | None]],
        upgraded: Callable[[bytes], Awaitable[None]],
        page: Callable[[str], Awaitable[tuple[int, bytes] | None]],
    ) -> None:
        """`upgraded` takes the connection over with the bytes of a WebSocket's handshake."""
        self._reader = reader
        self._writer = writer
        self._respond = respond
        self._upgraded = upgraded
        self._page = page
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADERS)

    async def run(self) -> None:
        try:
            while await self._serve_one():
                self._http.start_next_cycle()
        except (OSError, TimeoutError, h11.LocalProtocolError):
            pass  # the client left, or sat idle: there is nobody to tell
        finally:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()

    async def _serve_one(self) -> bool:
        """Answer one request; whether the connection can carry another."""
        try:
            request = await self._event()
            if not isinstance(request, h11.Request):
                return False
            body = await self._body()
            refuse_stranger(request)
            if _asks_for_websocket(request):
                await self._upgraded(_serialized(request) + self._http.trailing_data[0])
                return False
            if request.method == b"GET":
                found = await self._page(request.target.decode("latin-1"))
                if found is not None:
                    await self._send(*found, "application/json")
                    return self._is_done()
            refuse_other_than_json(request)
            if not body.is_whole:
                raise _RefusedError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"content over {MAX_BODY} bytes"
                )
            answer = await self._respond(body.content)
            await self._send(HTTPStatus.OK, answer or b"", "application/json")
        except _RefusedError as refusal:
            await self._send(refusal.status, f"{refusal}\n".encode(), "text/plain")
        except h11.RemoteProtocolError as error:
            if self._http.our_state is h11.SEND_RESPONSE or self._http.our_state is h11.IDLE:
                await self._send(error.error_status_hint, f"{error}\n".encode(), "text/plain")
            return False
        return self._is_done()

    def _is_done(self) -> bool:
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _event(self) -> h11.Event | None:
        """The next part of a request; None when the client stopped following the protocol."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                return None
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._http.send(go_on) or b"")
            async with asyncio.timeout(IDLE_SECONDS):
                self._http.receive_data(await self._reader.read(READ_BYTES))

    async def _body(self) -> _Body:
        """All of the content, or the part of it that is not too long."""
        # What is too long is still read off: a client cut off while writing never hears why.
        pieces: list[bytes] = []
        length = 0
        while isinstance(event := await self._event(), h11.Data):
            length += len(event.data)
            if length > MAX_DISCARDED:
                raise ConnectionAbortedError
            if length <= MAX_BODY:
                pieces.append(bytes(event.data))
        return _Body(b"".join(pieces), length <= MAX_BODY)

    async def _send(self, status: int, content: bytes, kind: str) -> None:
        headers = [("Content-Length", str(len(content)))]
        if content:
            headers.append(("Content-Type", kind))
        response = h11.Response(status_code=status, headers=headers)
        pieces = [self._http.send(response), self._http.send(h11.Data(data=content))]
        pieces.append(self._http.send(h11.EndOfMessage()))
        self._writer.write(b"".join(piece or b"" for piece in pieces))
        async with asyncio.timeout(IDLE_SECONDS):
            await self._writer.drain()


def refuse_stranger(request: h11.Request) -> None:
    """Keep web pages out: this chain has no password, and a browser can reach every local port.

    A name rebound to 127.0.0.1 shows in Host, a foreign page in Origin; and no page can post JSON
    across origins without asking first, which is never answered.
    """
    headers = _headers(request)
    name = PORT_SUFFIX.sub("", headers.get("host", "")).lower()
    if name not in LOCAL_NAMES:
        raise _RefusedError(HTTPStatus.FORBIDDEN, "this chain answers to 127.0.0.1 only")
    if "origin" in headers:
        raise _RefusedError(HTTPStatus.FORBIDDEN, "web pages may not use this chain")


def refuse_other_than_json(request: h11.Request) -> None:
    if request.method != b"POST":
        raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "send JSON-RPC requests by POST")
    kind = _headers(request).get("content-type", "").split(";", 1)[0].strip().lower()
    if kind != "application/json":
        raise _RefusedError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "set the header Content-Type: application/json"
        )


def _headers(request: h11.Request) -> dict[str, str]:
    return {name.decode(): value.decode("latin-1") for name, value in request.headers}


def _asks_for_websocket(request: h11.Request) -> bool:
    return _headers(request).get("upgrade", "").lower() == "websocket"


def _serialized(request: h11.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method, request.target)]
    lines += [b"%s: %s" % (name, value) for name, value in request.headers]
    return b"\r\n".join((*lines, b"", b""))
