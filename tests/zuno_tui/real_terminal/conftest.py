"""A world each test may change at a real terminal: what it did is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from chain.contracts.networks import network_named
from tests import node_rpc
from tests.chain.moves import Moves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chain.devnet.launch import DevnetReady

    Node = Callable[..., Any]


@pytest.fixture
def node(devnet: DevnetReady) -> Iterator[Node]:
    """The embedded chain, mining as it is told to, and afterwards as it was."""

    def ask(method: str, *params: object) -> Any:
        return node_rpc.ask(devnet.url, method, *params)

    taken = ask("evm_snapshot")
    yield ask
    ask("evm_setAutomine", True)
    assert ask("evm_revert", taken)


@pytest.fixture
def moves(devnet: DevnetReady) -> Iterator[Moves]:
    with httpx2.Client(verify=False) as http:
        yield Moves(http, devnet.url, network_named("devnet"))
