"""A provider on a socket of its own, by the wall's clock: for commands that are whole processes."""

import gzip
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, SO_LINGER, SOL_SOCKET
from types import TracebackType
from typing import Self

from tests.fakes.providers.embedded import EmbeddedChain
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.provider import RESET, Provider, ProviderClock

_PATIENCE = 60.0
_RESETS = struct.pack("ii", 1, 0)
"""Closing sends a reset instead of an end."""


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


class _QuietServer6(_QuietServer):
    address_family = AF_INET6


@dataclass
class ServedProvider:
    """The embedded chain behind a profile's habits."""

    profile: Profile
    chain: str
    seed: int = 7
    clock: ProviderClock = field(default_factory=WallClock)

    def __enter__(self) -> Self:
        self.provider = Provider(self.profile, EmbeddedChain(self.chain), self.clock, self.seed)
        self._turn = threading.Lock()
        host = "::1" if self.profile.line == "::1" else "127.0.0.1"
        served = _QuietServer6 if host == "::1" else _QuietServer
        self._server = served((host, 0), self._handler())
        named = f"[{host}]" if ":" in host else host
        self.url = f"http://{named}:{self._server.server_port}/"
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
        served, line = self, self.profile.line

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if line in ("chunked", "idle close") else "HTTP/1.0"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(served.profile.answers_after)
                with served._turn:
                    answer = served.provider.respond(body, _PATIENCE)
                assert answer is not None
                if answer.status == RESET:
                    self.close_connection = True
                    self.connection.setsockopt(SOL_SOCKET, SO_LINGER, _RESETS)
                    self.connection.close()
                    return
                self.send_response(answer.status)
                if answer.retry_after is not None:
                    self.send_header("Retry-After", answer.retry_after)
                self._write(answer.body)

            def _write(self, body: bytes) -> None:
                if line == "gzip":
                    body = gzip.compress(body)
                    self.send_header("Content-Encoding", "gzip")
                if line == "chunked":
                    self.send_header("Transfer-Encoding", "chunked")
                    pieces = (body[start : start + 1000] for start in range(0, len(body), 1000))
                    body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces)
                    body += b"0\r\n\r\n"
                else:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if line == "idle close":
                    self.close_connection = True  # which no header told

            def log_message(self, *_said: object) -> None:
                """Tests have nothing to say here."""

        return Handler
