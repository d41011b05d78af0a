"""An endpoint before the embedded chain that fails at random, as public endpoints do."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import httpx2

from tests import node_rpc

FAULTS = ("busy", "broken", "hangs up", "gibberish")


@dataclass
class FlakyProxy:
    """Runs in threads of its own; `share` of all requests fail, `down` makes it all of them."""

    chain: str
    share: float
    seed: int = 0
    down: bool = False
    answered: Counter[str] = field(default_factory=Counter)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/a-key-that-is-never-shown"

    def __enter__(self) -> Self:
        self._draw = random.Random(self.seed)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _fate(self) -> str:
        if self.down:
            return "hangs up"
        return self._draw.choice(FAULTS) if self._draw.random() < self.share else "honest"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fate = proxy._fate()
                proxy.answered[fate] += 1
                if fate == "hangs up":
                    return
                if fate in ("busy", "broken", "gibberish"):
                    status = {"busy": 429, "broken": 503, "gibberish": 200}[fate]
                    self._respond(status, b"<html>not what you asked for</html>")
                    return
                headers = {"content-type": "application/json"}
                try:
                    answer = node_rpc.http().post(proxy.chain, content=body, headers=headers)
                except httpx2.HTTPError:
                    return  # the chain behind is ending, or is too busy to answer
                self._respond(answer.status_code, answer.content)

            def _respond(self, status: int, body: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    self.close_connection = True

            def log_message(self, *_said: object) -> None:
                """Tests have nothing to say here."""

        return Handler
