"""A provider on a socket of its own, by the wall's clock: for commands that are whole processes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

from tests.fakes.providers.embedded import EmbeddedChain
from tests.fakes.providers.provider import Provider

if TYPE_CHECKING:
    from types import TracebackType

    from tests.fakes.providers.profile import Profile

_PATIENCE = 60.0


class WallClock:
    """Goes on by itself: what a provider adds for its latency is not waited for."""

    @property
    def now(self) -> float:
        return time.monotonic()

    @now.setter
    def now(self, _: float) -> None:
        """Nobody moves it."""


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_said: object) -> None:
        """Who asked may leave before the answer."""


@dataclass
class ServedProvider:
    """The embedded chain behind a profile's habits."""

    profile: Profile
    chain: str
    seed: int = 7

    def __enter__(self) -> Self:
        self.provider = Provider(self.profile, EmbeddedChain(self.chain), WallClock(), self.seed)
        self._turn = threading.Lock()
        self._server = _QuietServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with served._turn:
                    answer = served.provider.respond(body, _PATIENCE)
                assert answer is not None
                self.send_response(answer.status)
                if answer.retry_after is not None:
                    self.send_header("Retry-After", answer.retry_after)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_said: object) -> None:
                """Tests have nothing to say here."""

        return Handler
