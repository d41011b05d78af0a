"""The node behind HTTP and WebSocket on 127.0.0.1, all work done by one thread in turn."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from chain.devnet.node.exchange import ClientConnection
from chain.devnet.node.rpc.dispatch import METHODS, answer, fault_to_json, parse
from chain.devnet.node.rpc.faults import RpcFaultError
from chain.devnet.node.websocket import HeadAnnouncer, WebSocketConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.node.node import Node
    from chain.devnet.node.records import Header
    from chain.devnet.node.rpc.dispatch import Method
    from chain.devnet.node.rpc.faults import Json

HOST = "127.0.0.1"

# 1,024 nested calls take a dozen Python frames each, some of them on the C stack; the default
# stack of a thread is too small for that on some systems.
STACK_BYTES = 64 * 1024 * 1024

MOST_ANNOUNCED = 256
"""Blocks of one piece of work that are told; of a longer one the newest."""

T = TypeVar("T")


class Server:
    """Answers JSON-RPC; `methods` adds to the names it knows or replaces them, `page` to reads."""

    def __init__(
        self,
        node: Node,
        *,
        methods: Mapping[str, Method] | None = None,
        page: Callable[[str], tuple[int, bytes] | None] = lambda _: None,
    ) -> None:
        self._node = node
        self._page = page
        self._methods = {**METHODS, **(methods or {})}
        self._worker = _one_thread()
        self._heads = HeadAnnouncer()
        self._announced = node.ledger.head
        self._listener: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[None]] = set()

    async def start(self, *, port: int = 0) -> str:
        """Listen on this port, or on any free one, and return the URL."""
        self._listener = await asyncio.start_server(self._accept, HOST, port)
        bound = self._listener.sockets[0].getsockname()[1]
        return f"http://{HOST}:{bound}"

    async def run(self, work: Callable[[], T]) -> T:
        """Do something to the chain between two requests, and tell of the blocks that it made."""

        def worked() -> tuple[T, list[Header]]:
            return work(), self._new_heads()

        done, heads = await asyncio.get_running_loop().run_in_executor(self._worker, worked)
        for head in heads:
            self._heads.announce(head)
        return done

    def _new_heads(self) -> list[Header]:
        ledger, before = self._node.ledger, self._announced
        head = ledger.head
        if head.hash == before.hash:
            return []
        self._announced = head
        # After a reorganisation only the new head is told: where it parted is the client's to see.
        first = max(before.number + 1, head.number - MOST_ANNOUNCED + 1)
        return [ledger.block(number).header for number in range(first, head.number)] + [head]

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for exchange in list(self._exchanges):
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)
        self._worker.shutdown(cancel_futures=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._exchanges.add(task)
            task.add_done_callback(self._exchanges.discard)
        with suppress(asyncio.CancelledError):  # by close(), which waits for this to end
            websocket = WebSocketConnection(reader, writer, self._respond, self._heads)
            await ClientConnection(
                reader, writer, self._respond, websocket.run, self._read_page
            ).run()

    async def _read_page(self, target: str) -> tuple[int, bytes] | None:
        return await self.run(lambda: self._page(target))

    async def _respond(self, body: bytes) -> bytes | None:
        try:
            request = parse(body)
        except RpcFaultError as fault:
            return _encode(fault_to_json(None, fault))
        if isinstance(request, dict):
            return await self._one(request)
        # Each request of a batch waits its turn alone, so that a long batch starves nobody.
        answers = [await self._one(item) for item in request]
        spoken = [item for item in answers if item is not None]
        return b"[" + b",".join(spoken) + b"]" if spoken else None

    async def _one(self, request: Json) -> bytes | None:
        def work() -> bytes | None:
            response = answer(self._node, self._methods, request)
            return None if response is None else _encode(response)

        return await self.run(work)


def _encode(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _one_thread() -> ThreadPoolExecutor:
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chain")
    before = threading.stack_size(STACK_BYTES)
    try:
        worker.submit(int).result()
    finally:
        threading.stack_size(before)
    return worker
