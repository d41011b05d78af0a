"""One node a worker, behind its real HTTP server; each test leaves it as it found it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from chain.devnet.node.node import Node
from chain.devnet.node.server import Server
from tests.chain.devnet.node.kit import Client, new_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def serving(node: Node) -> Iterator[str]:
    """The node's URL, answered from a thread of its own so that blocking clients can ask."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = Server(node, methods={"zuno_height": lambda node, _: node.ledger.head.number})
    try:
        yield asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with serving(Node(new_ledger())) as url:
        yield url


@pytest.fixture
def rpc(url: str) -> Iterator[Client]:
    client = Client(url)
    snapshot = client("evm_snapshot")
    yield client
    assert client("evm_revert", snapshot) is True
    client("evm_setAutomine", True)
