"""An endpoint before the embedded chain that answers some questions its own way."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import httpx2

from tests.waiting import HUNG_SECONDS

Call = dict[str, Any]
Answer = dict[str, Any]
"""A reply's `result` or `error`; or `status`: of HTTP for the whole request, 0 hangs up."""


def forwards(_call: Call) -> Answer | None:
    return None


def refuses(method: str) -> Callable[[Call], Answer | None]:
    """A node that was built without this method."""
    missing = {"error": {"code": -32601, "message": f"the method {method} does not exist"}}
    return lambda call: missing if call["method"] == method else None


class _StatusError(Exception):
    """A request that is answered with a status alone."""

    def __init__(self, status: int) -> None:
        self.status = status


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_said: object) -> None:
        """Who asked may leave before the answer."""


@dataclass
class Proxy:
    """Runs in a thread, so that commands run beside it whichever way they run."""

    chain: str
    answer: Callable[[Call], Answer | None] = forwards
    asked: Counter[str] = field(default_factory=Counter)
    port: int = 0
    _server: ThreadingHTTPServer | None = None
    _http: httpx2.Client | None = None
    """Kept open: a client for each request takes longer than the request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/a-key-that-is-never-shown"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Open under the same name as before, where it was open before."""
        self._http = httpx2.Client(verify=False, timeout=HUNG_SECONDS)
        self._server = _QuietServer(("127.0.0.1", self.port), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
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
        if self._http is not None:
            self._http.close()

    def ask(self, calls: list[Call]) -> list[dict[str, Any]]:
        """What the chain itself answers."""
        assert self._http is not None
        replies: list[dict[str, Any]] = self._http.post(self.chain, json=calls).json()
        return replies

    def _replied(self, body: bytes) -> bytes:
        asked = json.loads(body)
        calls = asked if isinstance(asked, list) else [asked]
        self.asked.update(call["method"] for call in calls)
        own = {call["id"]: answer for call in calls if (answer := self.answer(call)) is not None}
        for answer in own.values():
            if "status" in answer:
                raise _StatusError(answer["status"])
        passed = [call for call in calls if call["id"] not in own]
        replies = {reply["id"]: reply for reply in (self.ask(passed) if passed else [])}
        replies |= {key: {"jsonrpc": "2.0", "id": key, **answer} for key, answer in own.items()}
        ordered = [replies[call["id"]] for call in calls]
        return json.dumps(ordered if isinstance(asked, list) else ordered[0]).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            # A connection for each request ends with the server: nothing lingers half open.
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    status, answer = 200, proxy._replied(body)
                except _StatusError as refusal:
                    status, answer = refusal.status, b"<html>no</html>"
                if not status:
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_said: object) -> None:
                """Tests have nothing to say here."""

        return Handler
