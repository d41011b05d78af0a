"""A world each test may change: what it did is taken back."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.process_guard import opened_again

Node = Callable[..., Any]


@pytest.fixture
def node(devnet: DevnetReady) -> Node:
    def ask(method: str, *params: object) -> Any:
        return node_rpc.ask(devnet.url, method, *params)

    return ask


@pytest.fixture
def changed_world(devnet: DevnetReady, node: Node) -> Iterator[None]:
    taken = node("evm_snapshot")
    yield
    node_rpc.take_back(devnet.url, taken)


@pytest.fixture(autouse=True)
def open_process() -> Iterator[None]:
    with opened_again():
        yield
