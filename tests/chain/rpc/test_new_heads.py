"""New blocks announced over a WebSocket, against the embedded chain, and every way to lose them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from chain.contracts.networks import Network, network_named
from chain.rpc.errors import ErrorKind, RpcError
from chain.rpc.new_heads import HeadListener, follow_heads
from tests import node_rpc
from tests.chain.rpc.conftest import QUICK, assert_fit_to_show
from tests.chain_view import bare_chain
from tests.fakes.tcp_line import tcp_line
from tests.virtual_time import pass_time

DEVNET = network_named("devnet")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with bare_chain() as chain:
        yield chain.url


@dataclass
class Heard:
    numbers: list[int] = field(default_factory=list)
    line: list[RpcError | None] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def announced(self, number: int) -> None:
        self.numbers.append(number)
        self._more.set()

    def line_changed(self, fault: RpcError | None) -> None:
        self.line.append(fault)
        self._more.set()

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self._more.clear()
            await self._more.wait()


@asynccontextmanager
async def following(
    url: str, *, network: Network = DEVNET, between_seconds: float = 0.0
) -> AsyncIterator[Heard]:
    heard = Heard()
    listener = HeadListener(heard.announced, heard.line_changed, between_seconds)
    task = asyncio.create_task(follow_heads(network, (url,), listener, limits=QUICK))
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def mine(url: str, blocks: int = 1) -> int:
    await asyncio.to_thread(node_rpc.ask, url, "anvil_mine", hex(blocks))
    return int(await asyncio.to_thread(node_rpc.ask, url, "eth_blockNumber"), 16)


def kinds(heard: Heard) -> list[ErrorKind | None]:
    return [None if one is None else one.kind for one in heard.line]


async def test_a_line_that_is_cut_is_told_and_opened_again(url: str) -> None:
    async with tcp_line(url) as line, following(line.socket_url) as heard:
        await heard.until(lambda: heard.line == [None])
        first = await mine(url)
        await heard.until(lambda: heard.numbers == [first])

        line.cut()
        await heard.until(lambda: ErrorKind.UNREACHABLE in kinds(heard))
        await mine(url)
        await line.mend()
        await heard.until(lambda: heard.line[-1] is None)
        second = await mine(url)
        await heard.until(lambda: heard.numbers == [first, second])

    for fault in filter(None, heard.line):
        assert_fit_to_show(fault)


async def test_of_blocks_in_quick_succession_the_newest_is_told() -> None:
    from websockets.asyncio.server import ServerConnection, serve

    async def announce(socket: ServerConnection) -> None:
        for result in (hex(DEVNET.chain_id), "0x1"):
            asked = json.loads(await socket.recv())
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        for number in range(1, 10):
            await pass_time(1)
            params = {"subscription": "0x1", "result": {"number": hex(number)}}
            await socket.send(json.dumps({"method": "eth_subscription", "params": params}))
        await socket.wait_closed()

    async with serve(announce, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with following(f"ws://127.0.0.1:{port}", between_seconds=12) as heard:
            await heard.until(lambda: 9 in heard.numbers)

    assert heard.numbers == [1, 9]


async def test_an_endpoint_of_another_chain_announces_nothing(url: str) -> None:
    async with following(url.replace("http", "ws"), network=network_named("base")) as heard:
        await heard.until(lambda: bool(heard.line))
        await mine(url)

    assert kinds(heard)[0] is ErrorKind.WRONG_CHAIN
    assert heard.numbers == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (
            b"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n",
            ErrorKind.HTTP_FAULT,
        ),
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", ErrorKind.HTTP_FAULT),
        (b"no\r\n\r\n", ErrorKind.UNREACHABLE),
        (b"", ErrorKind.UNREACHABLE),
    ],
)
async def test_what_is_no_socket_is_told_apart_and_no_redirect_is_followed(
    url: str, answer: bytes, kind: ErrorKind
) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer.replace(b"{url}", url.replace("http", "ws").encode()))
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with following(f"ws://127.0.0.1:{port}/SECRET-OF-SOME-LENGTH") as heard:
            await heard.until(lambda: bool(heard.line))

    assert kinds(heard)[0] is kind
    assert None not in heard.line
