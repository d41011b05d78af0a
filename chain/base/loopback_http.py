"""A small JSON server for this machine alone, answering in threads."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

HOST = "127.0.0.1"
_MOST_BYTES = 4 << 20


class LoopbackServer(ThreadingHTTPServer):
    """Listens from its making on, and answers once it is started."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[LoopbackHandler]) -> None:
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
    """Head and body are written one after the other: the second must not wait for the first."""

    def do_POST(self) -> None:
        self.answer_post(self.read_json())

    def do_GET(self) -> None:
        self.answer_get(self.path)

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
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
        """Nobody reads who asked for what."""
