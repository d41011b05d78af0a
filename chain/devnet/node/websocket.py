"""JSON-RPC over a WebSocket, and new blocks told to whoever subscribed to them."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from chain.devnet.node.rpc.dispatch import fault_to_json
from chain.devnet.node.rpc.faults import invalid
from chain.devnet.node.rpc.render import header_to_json

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from chain.devnet.node.records import Header
    from chain.devnet.node.rpc.faults import Json

MAX_MESSAGE = 10 * 1024 * 1024
MOST_UNREAD = 4 * 1024 * 1024
"""Bytes a subscriber may leave unread before the line is cut."""
READ_BYTES = 64 * 1024

_MESSAGE = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class HeadAnnouncer:
    """Tells every listener of every new block."""

    def __init__(self) -> None:
        self._listeners: set[Callable[[Json], None]] = set()

    def listen(self, listener: Callable[[Json], None]) -> None:
        self._listeners.add(listener)

    def forget(self, listener: Callable[[Json], None]) -> None:
        self._listeners.discard(listener)

    def announce(self, head: Header) -> None:
        if self._listeners:
            told = header_to_json(head)
            for listener in tuple(self._listeners):
                listener(told)


class WebSocketConnection:
    """One client that has upgraded: requests are answered in order, heads come in between."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        respond: Callable[[bytes], Awaitable[bytes | None]],
        heads: HeadAnnouncer,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._respond = respond
        self._heads = heads
        self._protocol = ServerProtocol(max_size=MAX_MESSAGE)
        self._pieces: list[bytes] = []
        self._numbers = itertools.count(1)
        self._subscriptions: set[str] = set()

    async def run(self, handshake: bytes) -> None:
        """Until either side closes; `handshake` is the request as it came."""
        self._heads.listen(self._tell)
        try:
            data = handshake
            while data:
                self._protocol.receive_data(data)
                for event in self._protocol.events_received():
                    await self._take(event)
                self._flush()
                if self._protocol.close_expected():
                    return
                await self._writer.drain()
                data = await self._reader.read(READ_BYTES)
        finally:
            self._heads.forget(self._tell)

    async def _take(self, event: object) -> None:
        if isinstance(event, Request):
            self._protocol.send_response(self._protocol.accept(event))
        elif isinstance(event, Frame) and event.opcode in _MESSAGE:
            self._pieces.append(bytes(event.data))
            if event.fin:
                message, self._pieces = b"".join(self._pieces), []
                answer = self._subscribing(message) or await self._respond(message)
                if answer is not None:
                    self._protocol.send_text(answer)
                    self._flush()

    def _subscribing(self, message: bytes) -> bytes | None:
        """The answer to what only a lasting connection can do; None for any other request."""
        try:
            request = json.loads(message)
        except ValueError:
            return None
        match request:
            case {"id": identity, "method": "eth_subscribe", "params": ["newHeads"]}:
                number = hex(next(self._numbers))
                self._subscriptions.add(number)
                return _encoded({"jsonrpc": "2.0", "id": identity, "result": number})
            case {"id": identity, "method": "eth_subscribe"}:
                return _encoded(fault_to_json(identity, invalid("newHeads alone is served")))
            case {"id": identity, "method": "eth_unsubscribe", "params": [str(number)]}:
                known = number in self._subscriptions
                self._subscriptions.discard(number)
                return _encoded({"jsonrpc": "2.0", "id": identity, "result": known})
        return None

    def _tell(self, head: Json) -> None:
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            self._writer.transport.abort()
            return
        for number in self._subscriptions:
            told: Json = {
                "jsonrpc": "2.0",
                "method": "eth_subscription",
                "params": {"subscription": number, "result": head},
            }
            self._protocol.send_text(_encoded(told))
        self._flush()

    def _flush(self) -> None:
        self._writer.write(b"".join(self._protocol.data_to_send()))


def _encoded(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
