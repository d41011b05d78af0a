"""JSON-RPC to a local node over one kept connection, in order.

A batch promises no order, and a round trip a request would take longer than the requests. So the
requests of `ask_all` are pipelined: a node answers what comes over one connection one by one.
"""

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from chain.base.errors import ZunoError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Call: TypeAlias = "tuple[str, Sequence[object]]"

_PATIENCE_SECONDS = 60.0
_WINDOW = 64 if hasattr(socket, "TCP_QUICKACK") else 1
"""Requests on their way at once: all of them could fill the buffers of both sides for ever."""
_HEADERS_END = b"\r\n\r\n"
_LARGEST_HEADERS = 16_384
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""The node waits with a second small answer until we confirm the first, which Linux delays."""


class NodeError(ZunoError):
    """The node could not be reached, or did not answer as a node does."""


class NodeRefusedError(NodeError):
    """The node's own words about a request."""

    def __init__(self, method: str, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{method}: {message}")
        self.code = code
        self.message = message
        self.data = data


class _Fault(Struct, frozen=True):
    code: int
    message: str
    data: object = None


class _Answer(Struct, frozen=True):
    result: Any = None  # any JSON: msgspec knows no recursive alias
    error: _Fault | None = None


_answers = msgspec.json.Decoder(_Answer)


class NodeClient:
    """One connection, for one thread at a time; it is opened anew where the node closed it."""

    def __init__(self, url: str, *, patience: float = _PATIENCE_SECONDS) -> None:
        parts = urlsplit(url)
        self.url = url
        self._address = (parts.hostname or "", parts.port or 80)
        self._patience = patience
        self._socket: socket.socket | None = None
        self._unread = bytearray()

    def ask(self, method: str, *params: object) -> Json:
        return self.ask_all([(method, params)])[0]

    def ask_number(self, method: str, *params: object) -> int:
        """A quantity, which JSON-RPC writes in hex."""
        return int(self.ask_text(method, *params), 16)

    def ask_text(self, method: str, *params: object) -> str:
        answer = self.ask(method, *params)
        if not isinstance(answer, str):
            raise NodeError(f"The node at {self.url} answered {method} with no text.")
        return answer

    def ask_fields(self, method: str, *params: object) -> Mapping[str, Json]:
        answer = self.ask(method, *params)
        if not isinstance(answer, dict):
            raise NodeError(f"The node at {self.url} answered {method} with no object.")
        return answer

    def ask_all(self, calls: Sequence[Call]) -> list[Json]:
        """The results of these calls, each made when the one before it was answered."""
        try:
            answers = list(self._answers(calls))
        except OSError as error:
            self.close()
            reason = error.strerror or str(error) or "no answer"
            raise NodeError(f"The node at {self.url} does not answer: {reason}.") from error
        except NodeError:
            self.close()
            raise
        for (method, _), answer in zip(calls, answers, strict=True):
            if answer.error is not None:
                fault = answer.error
                raise NodeRefusedError(method, fault.code, fault.message, fault.data)
        return [answer.result for answer in answers]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._unread.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answers(self, calls: Sequence[Call]) -> Iterator[_Answer]:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._patience)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self._socket
        for start in range(0, len(calls), _WINDOW):
            window = calls[start : start + _WINDOW]
            connection.sendall(b"".join(map(_request, window)))
            for _ in window:
                try:
                    yield _answers.decode(self._body(connection))
                except msgspec.DecodeError as error:
                    raise NodeError(f"The node at {self.url} answered no JSON-RPC.") from error

    def _body(self, connection: socket.socket) -> bytes:
        while (end := self._unread.find(_HEADERS_END)) < 0:
            if len(self._unread) > _LARGEST_HEADERS:
                raise NodeError(f"The node at {self.url} answered no HTTP.")
            self._read_more(connection)
        start = end + len(_HEADERS_END)
        length = _content_length(bytes(self._unread[:end]))
        while len(self._unread) < start + length:
            self._read_more(connection)
        body = bytes(self._unread[start : start + length])
        del self._unread[: start + length]
        return body

    def _read_more(self, connection: socket.socket) -> None:
        if _QUICK_ACK is not None:
            connection.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        piece = connection.recv(1 << 18)
        if not piece:
            raise ConnectionResetError("it closed the connection")
        self._unread += piece


def _request(call: Call) -> bytes:
    method, params = call
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def _content_length(headers: bytes) -> int:
    for line in headers.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    raise NodeError("The node's answer has no length.")
