"""The WebSocket side of the embedded chain: requests, subscriptions, and strangers kept out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.chain.devnet.node.kit import Client


@pytest.fixture
def socket(url: str) -> Iterator[ClientConnection]:
    with connect(url.replace("http", "ws"), proxy=None) as socket:
        yield socket


def ask(socket: ClientConnection, method: str, *params: object) -> dict[str, Any]:
    socket.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    return hear(socket)


def hear(socket: ClientConnection) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(socket.recv(timeout=10))
    return answer


def test_a_socket_answers_like_http_also_in_pieces(socket: ClientConnection, rpc: Client) -> None:
    question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []})
    socket.send([question[:20], question[20:]])

    assert hear(socket)["result"] == rpc("eth_blockNumber")
    assert ask(socket, "eth_nope")["error"]["code"] == -32601
    socket.send("{")
    assert hear(socket)["error"]["code"] == -32700


def test_every_new_block_is_told_until_the_subscription_ends(
    socket: ClientConnection, rpc: Client
) -> None:
    subscription = ask(socket, "eth_subscribe", "newHeads")["result"]
    rpc("anvil_mine", "0x3")
    told = [hear(socket) for _ in range(3)]

    head = rpc("eth_getBlockByNumber", "latest", False)
    numbers = [int(one["params"]["result"]["number"], 16) for one in told]
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    assert told[-1]["method"] == "eth_subscription"
    assert told[-1]["params"]["subscription"] == subscription
    assert told[-1]["params"]["result"]["hash"] == head["hash"]

    assert ask(socket, "eth_unsubscribe", subscription)["result"] is True
    assert ask(socket, "eth_unsubscribe", subscription)["result"] is False
    rpc("evm_mine")
    assert ask(socket, "eth_blockNumber")["result"] == rpc("eth_blockNumber")


def test_a_chain_that_went_back_tells_its_new_head(socket: ClientConnection, rpc: Client) -> None:
    rpc("anvil_mine", "0x2")
    ask(socket, "eth_subscribe", "newHeads")
    rpc("anvil_rollback", 1)

    told = hear(socket)["params"]["result"]
    assert told["number"] == rpc("eth_blockNumber")


def test_other_subscriptions_are_refused(socket: ClientConnection) -> None:
    assert ask(socket, "eth_subscribe", "logs", {})["error"]["code"] == -32602


def test_a_web_page_gets_no_socket(url: str) -> None:
    foreign = {"Origin": "http://evil.example"}
    with pytest.raises(InvalidStatus) as refused:
        connect(url.replace("http", "ws"), additional_headers=foreign, proxy=None)

    assert refused.value.response.status_code == 403
