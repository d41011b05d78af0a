"""A server on loopback answers this user's own programs, and neither pages nor strangers."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from chain.base.loopback_http import HOST, LoopbackHandler, LoopbackServer

HUNG = 60.0


class _Handler(LoopbackHandler):
    def answer_post(self, asked: object) -> None:
        self.send_json(json.dumps({"did": asked}).encode())

    def answer_get(self, path: str) -> None:
        self.send_json(json.dumps({"read": path}).encode())


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    opened = LoopbackServer(0, _Handler)
    opened.serve_in_thread("test")
    yield opened
    opened.shutdown()
    opened.server_close()


def asked(server: LoopbackServer, method: str, path: str, **headers: str) -> tuple[int, str]:
    connection = HTTPConnection(HOST, server.port, timeout=HUNG)
    try:
        body = b'{"a": 1}' if method == "POST" else None
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_with_the_token_it_does_and_without_it_only_tells(server: LoopbackServer) -> None:
    assert asked(server, "POST", f"/{server.token}") == (200, '{"did": {"a": 1}}')
    assert asked(server, "GET", "/page") == (200, '{"read": "/page"}')
    for path in ("/", "", f"/{server.token}x", f"/{server.token[:-1]}", "/page"):
        assert asked(server, "POST", path or "/") == (403, "{}")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_and_a_name_that_leads_here_get_nothing(server: LoopbackServer, method: str) -> None:
    path, port = f"/{server.token}", server.port
    for host in (f"evil.example:{port}", HOST, f"{HOST}:{port + 1}", f"[::1]:{port}", ""):
        assert asked(server, method, path, Host=host) == (403, "{}")
    for origin in ("https://evil.example", "null", f"http://{HOST}:{port}"):
        assert asked(server, method, path, Origin=origin) == (403, "{}")
    assert asked(server, method, path, Host=f"localhost:{port}")[0] == 200


def test_every_server_has_a_token_of_its_own() -> None:
    tokens = set()
    for _ in range(3):
        opened = LoopbackServer(0, _Handler)
        tokens.add(opened.token)
        opened.server_close()
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 32
