"""The HTTP side: envelopes, batches, limits, and strangers kept out."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from chain.devnet.node.exchange import MAX_BODY
from chain.devnet.node.node import Node
from tests.chain.devnet.node.conftest import serving
from tests.chain.devnet.node.kit import COUNTER, LOOP, Client, new_ledger, word

if TYPE_CHECKING:
    from collections.abc import Iterator

CHAIN_ID = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


@pytest.fixture
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=20, trust_env=False) as client:
        yield client


def post(http: httpx2.Client, body: Any) -> Any:
    response = http.post("/", json=body)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return response.json()


def test_answers_any_path_and_keeps_the_connection(http: httpx2.Client) -> None:
    for path in ("/", "/v1/some?key=x"):
        response = http.post(path, json=CHAIN_ID)
        assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": "0x7a69"}
        assert "connection" not in response.headers


def test_answers_a_batch_in_order_each_on_its_own(http: httpx2.Client) -> None:
    answers = post(
        http,
        [
            CHAIN_ID,
            {"jsonrpc": "2.0", "id": "a", "method": "eth_nope"},
            {"jsonrpc": "2.0", "method": "eth_chainId"},
            17,
            {"jsonrpc": "2.0", "id": None, "method": "eth_call", "params": [{"to": COUNTER}]},
        ],
    )
    assert [item["id"] for item in answers] == [1, "a", None, None]
    assert answers[0]["result"] == "0x7a69"
    assert answers[1]["error"]["code"] == -32601
    assert "eth_nope" in answers[1]["error"]["message"]
    assert answers[2]["error"]["code"] == -32600
    assert answers[3]["result"] == word(42)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"id":' + b"9" * 10_000 + b"}", -32700),
        (b"[]", -32600),
        (b'"eth_chainId"', -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}', -32602),
        (json.dumps([CHAIN_ID] * 1001).encode(), -32600),
    ],
)
def test_bad_requests_get_the_standard_codes(http: httpx2.Client, body: bytes, code: int) -> None:
    response = http.post("/", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200
    assert response.json()["error"]["code"] == code


def test_a_notification_gets_no_answer(http: httpx2.Client) -> None:
    response = http.post("/", json={"jsonrpc": "2.0", "method": "eth_chainId"})
    assert (response.status_code, response.content) == (200, b"")


def test_chunked_content_is_read(http: httpx2.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for byte in json.dumps(CHAIN_ID).encode():
            yield bytes([byte])

    response = http.post("/", content=pieces(), headers={"Content-Type": "application/json"})
    assert response.json()["result"] == "0x7a69"


def test_too_much_content_is_refused(http: httpx2.Client) -> None:
    headers = {"Content-Type": "application/json"}
    assert http.post("/", content=b" " * (MAX_BODY + 1), headers=headers).status_code == 413
    endless = (b" " * 1_000_000 for _ in range(11))
    assert http.post("/", content=endless, headers=headers).status_code == 413
    assert post(http, CHAIN_ID)["result"] == "0x7a69"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:8545"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Host": "localhost:8545"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_web_pages_are_kept_out(http: httpx2.Client, headers: dict[str, str], status: int) -> None:
    merged = {"Content-Type": "application/json", **headers}
    response = http.post("/", content=json.dumps(CHAIN_ID).encode(), headers=merged)
    assert response.status_code == status


def test_only_posts_are_answered(http: httpx2.Client) -> None:
    assert http.get("/").status_code == 405
    assert http.request("OPTIONS", "/").status_code == 405


def talk(url: str, sent: bytes) -> bytes:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


def request(body: bytes, *extra: str, version: str = "1.1") -> bytes:
    head = [
        f"POST / HTTP/{version}",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *extra,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    first, second = (json.dumps({**CHAIN_ID, "id": item}).encode() for item in (1, 2))
    received = talk(url, request(first) + request(second))
    assert received.count(b"HTTP/1.1 200") == 2
    assert received.index(b'"id":1') < received.index(b'"id":2')


def test_an_old_client_gets_one_answer(url: str) -> None:
    received = talk(url, request(json.dumps(CHAIN_ID).encode(), version="1.0"))
    assert b"200" in received.split(b"\r\n", 1)[0]
    assert b"connection: close" in received.lower()


def test_a_client_that_asks_first_is_told_to_go_on(url: str) -> None:
    received = talk(url, request(json.dumps(CHAIN_ID).encode(), "Expect: 100-continue"))
    assert b"0x7a69" in received


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(url: str, sent: bytes) -> None:
    assert talk(url, sent).startswith(b"HTTP/1.1 400 ")


def test_endless_headers_are_cut_off(url: str) -> None:
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
    with suppress(OSError):  # the server closes before it has read them all
        assert talk(url, head + b"y" * 200_000).startswith(b"HTTP/1.1 431 ")
    assert Client(url)("eth_chainId") == "0x7a69"


@pytest.mark.parametrize("sent", [b"", b"POST /", request(b"{}")[:-1]])
def test_a_client_that_leaves_early_harms_nobody(url: str, sent: bytes) -> None:
    talk(url, sent)
    assert Client(url)("eth_chainId") == "0x7a69"


def test_closing_ends_idle_connections_quietly(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Node(new_ledger())) as url:
        parts = urlsplit(url)
        idle = socket.create_connection((parts.hostname, parts.port), timeout=10)
        assert Client(url)("eth_blockNumber") == "0x0"
    assert idle.recv(1) == b""
    idle.close()
    assert caplog.records == []


def test_a_long_call_delays_others_no_longer_than_itself(rpc: Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(
            rpc.post,
            json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "eth_call",
                    "params": [{"to": LOOP, "gas": hex(2_000_000)}],
                }
            ).encode(),
        )
        time.sleep(0.05)
        # Connections are accepted and read while the chain is at work; the answer waits its turn.
        assert rpc("eth_blockNumber") == "0x0"
        assert slow.result()["error"]["message"] == "out of gas"
