"""A small JSON server for this user alone, answering in threads.

Loopback is not private: a web page and other users' programs reach it, too. So the Host must be
this server's own, a request that a page made (it has an Origin) is refused, and who changes
anything needs a random token, which stands in the path.
"""

from __future__ import annotations

import hmac
import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

HOST = "127.0.0.1"
_MOST_BYTES = 4 << 20
_TOKEN_BYTES = 24


class LoopbackServer(ThreadingHTTPServer):
    """Listens from its making on, and answers once it is started."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[LoopbackHandler]) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        super().__init__((HOST, port), handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def serve_in_thread(self, name: str) -> None:
        Thread(target=self.serve_forever, args=(0.1,), name=name, daemon=True).start()

    def handle_error(self, *_request: object) -> None:
        """Whoever asked may leave before the answer: that is no fault to report."""


class LoopbackHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 10
    """Seconds after which a connection that says nothing is closed: it holds a thread."""
    """Head and body are written one after the other: the second must not wait for the first."""

    server: LoopbackServer

    def do_POST(self) -> None:
        if not self._is_for_us() or not hmac.compare_digest(
            self.path.removeprefix("/").encode(), self.server.token.encode()
        ):
            self.send_json(b"{}", HTTPStatus.FORBIDDEN)
            return
        self.answer_post(self.read_json())

    def do_GET(self) -> None:
        if not self._is_for_us():
            self.send_json(b"{}", HTTPStatus.FORBIDDEN)
            return
        self.answer_get(self.path)

    def _is_for_us(self) -> bool:
        """A name that leads here by DNS, and a page in a browser, are somebody else's."""
        own = {f"{name}:{self.server.port}" for name in (HOST, "localhost")}
        return self.headers.get("host") in own and self.headers.get("origin") is None

    def answer_post(self, asked: object) -> None:  # noqa: ARG002 - for whoever overrides it
        self.send_json(b"{}", HTTPStatus.NOT_FOUND)

    def answer_get(self, path: str) -> None:  # noqa: ARG002
        self.send_json(b"{}", HTTPStatus.NOT_FOUND)

    def read_json(self) -> object:
        """What was posted; None where it is no JSON, or more than anybody asks here."""
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > _MOST_BYTES:
            return None
        try:
            content: object = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return content

    def send_json(self, content: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(content, "application/json", status)

    def send_text(self, text: str, kind: str) -> None:
        self._send(text.encode(), kind, HTTPStatus.OK)

    def _send(self, content: bytes, kind: str, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
        """Nobody reads who asked for what."""
