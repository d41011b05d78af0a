"""Requests and WebSockets to servers, within limits of time and size; none is redirected."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from enum import StrEnum
from functools import cache
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from chain.base.errors import error_kind
from chain.base.units import MEGABYTE

if TYPE_CHECKING:
    import httpcore2
    from websockets.asyncio.client import ClientConnection


class ClosedAtEnd(ABC):
    @abstractmethod
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


_CLOSING_SECONDS = 1.0


def web_socket(
    url: str, *, connect_seconds: float, most_bytes: int, authorization: str | None = None
) -> AbstractAsyncContextManager[ClientConnection]:
    from websockets.asyncio.client import connect

    class Direct(connect):
        """The library's own, but for redirects: they are never followed."""

        def process_redirect(self, exc: Exception) -> Exception:
            return exc

    # At DEBUG the library would log whole frames and headers.
    logger = logging.getLogger("websockets.zuno")
    logger.setLevel(logging.WARNING)
    return Direct(
        url,
        additional_headers=None if authorization is None else {"authorization": authorization},
        user_agent_header="zuno",
        proxy=None,
        compression=None,
        open_timeout=connect_seconds,
        close_timeout=_CLOSING_SECONDS,
        max_size=most_bytes,
        logger=logger,
    )


_HEADERS = {"accept": "application/json", "accept-encoding": "gzip", "user-agent": "zuno"}
_ENCODINGS = frozenset(("", "identity", "gzip"))
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_MOST_CONNECTIONS, _MOST_IDLE, _IDLE_SECONDS = 100, 20, 5.0
_PATH_MARKS = "%/:;?@!$&'()*+,=~-._[]"
"""What stands in a path or a query as it is."""
_MOST_SECONDS_ASKED = 999_999_999.0
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HttpFailure(StrEnum):
    """What went wrong before there was a whole answer; each can stand after the server's name."""

    NO_ADDRESS = "is a host name that does not resolve"
    NOT_REACHABLE = "is not reachable"
    NOT_TRUSTED = "has a certificate that is not trusted"
    NOT_CONNECTED = "could not be connected to"
    TIMED_OUT = "did not answer"
    BROKEN_OFF = "broke the connection off"
    TOO_LARGE = "sent more"
    UNKNOWN_COMPRESSION = "compressed its answer in an unknown way"
    BROKEN_COMPRESSION = "sent an answer whose compression is broken"
    FAILED = "could not be asked"


class HttpError(Exception):
    """No whole answer came: a phrase without the URL, which may hold a key."""

    def __init__(self, failure: HttpFailure, detail: str = "") -> None:
        super().__init__(f"{failure} {detail}".strip())
        self.failure = failure


class HttpLimits(Struct, frozen=True):
    connect_seconds: float
    answer_seconds: float
    """From the request to the last byte, however slowly the bytes drip."""
    most_bytes: int
    """After decompression."""
    cut: bool = False
    """Whether of a longer answer the first bytes will do."""


class HttpAnswer(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: str | None = None

    def wait(self, now: float) -> float | None:
        """Seconds the server asked to be left alone."""
        return seconds_asked(self.retry_after, now)


@cache
def load_http() -> None:
    """All that a request will need: a deadline counts a server's time, never our own loading."""
    # 60 ms that `zuno --help` must not pay. The library itself loads these two at a request.
    from importlib import import_module

    for name in ("httpcore2", "anyio._backends._asyncio", "httpcore2._async.http11"):
        import_module(name)


class HttpClient:
    """Connections to the servers of these URLs; the HTTP library is loaded at the first request."""

    def __init__(self, *urls: str) -> None:
        self._secure = is_secure(urls)
        self._pool: httpcore2.AsyncConnectionPool | None = None
        self._met: set[str] = set()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
            self._pool = None

    async def get(self, url: str, headers: Mapping[str, str], limits: HttpLimits) -> HttpAnswer:
        return await self._bounded("GET", url, b"", headers, limits)

    async def post(
        self, url: str, body: bytes, limits: HttpLimits, headers: Mapping[str, str] = _NO_HEADERS
    ) -> HttpAnswer:
        """Send JSON once; whatever goes wrong is raised as an error that holds no URL."""
        content = {"content-type": "application/json", **headers}
        return await self._bounded("POST", url, body, content, limits)

    async def _bounded(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], limits: HttpLimits
    ) -> HttpAnswer:
        load_http()
        try:
            async with asyncio.timeout(limits.answer_seconds):
                await self._meet(url, limits)
                return await self._exchange(method, url, body, headers, limits)
        except HttpError as error:
            fault = error
        except TimeoutError:
            fault = HttpError(HttpFailure.TIMED_OUT, f"within {limits.answer_seconds:g} s")
        except Exception as error:
            fault = _fault(error, limits)
        # Raised out here because the library's exception, as context, would show the URL.
        raise fault

    async def _meet(self, url: str, limits: HttpLimits) -> None:
        """Look a new host up where a resolver that never answers holds nobody up."""
        host = urlsplit(url).hostname or ""
        if host in self._met:
            return
        try:
            async with asyncio.timeout(limits.connect_seconds):
                found = await has_address(host)
        except TimeoutError:
            found = None
        if not found:
            failure = HttpFailure.NOT_CONNECTED if found is None else HttpFailure.NO_ADDRESS
            raise HttpError(failure, "" if found is False else _connecting(limits))
        self._met.add(host)

    async def _exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], limits: HttpLimits
    ) -> HttpAnswer:
        import httpcore2

        if self._pool is None:
            self._pool = open_pool(secure=self._secure)
        seconds = limits.answer_seconds
        patience = {"read": seconds, "write": seconds, "pool": seconds}
        patience["connect"] = min(seconds, limits.connect_seconds)
        # The bare connections: a client above them would add redirects, cookies and logging.
        response = await self._pool.handle_async_request(
            httpcore2.Request(
                method,
                _ascii_url(url),
                headers=list((_described(url, body) | _HEADERS | dict(headers)).items()),
                content=body,
                extensions={"timeout": patience},
            )
        )
        try:
            content = await _read(response, limits)
        finally:
            await response.aclose()
        return HttpAnswer(response.status, content, _header(response, b"retry-after"))


def _described(url: str, body: bytes) -> dict[str, str]:
    """The headers that tell server and length."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    length = {"content-length": str(len(body))} if body else {}
    return {"host": _ascii_host(host), **length}


def _ascii_url(url: str) -> str:
    """As it goes over the wire: names in their ASCII form, other letters escaped."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    path, query = quote(parts.path, safe=_PATH_MARKS), quote(parts.query, safe=_PATH_MARKS)
    return urlunsplit((parts.scheme, f"{user}{at}{_ascii_host(host)}", path, query, ""))


def _ascii_host(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()


def _header(response: httpcore2.Response, name: bytes) -> str | None:
    values = [value for key, value in response.headers if key.lower() == name]
    return values[0].decode("latin-1") if values else None


def is_secure(urls: Iterable[str]) -> bool:
    return any(url.lower().startswith("https:") for url in urls)


def open_pool(*, secure: bool) -> httpcore2.AsyncConnectionPool:
    """The library's connections, through no proxy and with what it would log switched off."""
    import httpcore2

    logging.getLogger("httpcore2").setLevel(logging.WARNING)  # below, it logs hosts and headers
    return httpcore2.AsyncConnectionPool(
        ssl_context=trusted_certificates(secure=secure),
        max_connections=_MOST_CONNECTIONS,
        max_keepalive_connections=_MOST_IDLE,
        keepalive_expiry=_IDLE_SECONDS,
    )


def trusted_certificates(*, secure: bool) -> ssl.SSLContext:
    """The system's, 60 ms of reading; where no URL is https, a context that trusts nobody."""
    if not secure:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    from httpcore2 import default_ssl_context

    return default_ssl_context()


async def has_address(host: str) -> bool:
    """Whether the name leads anywhere; may take as long as the resolver does, so limit the time."""
    with suppress(ValueError):
        return bool(ip_address(host))
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bool] = loop.create_future()

    def tell(answer: bool) -> None:
        if not found.done():
            found.set_result(answer)

    def look_up() -> None:
        try:
            answer = bool(socket.getaddrinfo(host, None))
        except OSError:
            answer = False
        with suppress(RuntimeError):  # the loop is closed when the answer came too late
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=look_up, name="name look-up", daemon=True).start()
    return await found


def seconds_asked(header: str | None, now: float) -> float | None:
    """What a Retry-After header asks for, by the wall's clock; None where it says nothing clear."""
    if header is None:
        return None
    given = header.strip()
    if _SECONDS.fullmatch(given):
        return min(float(given), _MOST_SECONDS_ASKED)
    from email.utils import parsedate_to_datetime  # 15 ms that only a rate limit is worth

    try:
        moment = parsedate_to_datetime(given).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - now)


async def _read(response: httpcore2.Response, limits: HttpLimits) -> bytes:
    encoding = (_header(response, b"content-encoding") or "").strip().lower()
    if encoding not in _ENCODINGS:
        raise HttpError(HttpFailure.UNKNOWN_COMPRESSION)
    gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    content = bytearray()
    async for piece in response.aiter_stream():
        # Never more of it than is wanted and a byte: a small piece may hold gigabytes.
        most = limits.most_bytes + 1 - len(content)
        content += piece if gzip is None else gzip.decompress(piece, most)
        if len(content) > limits.most_bytes:
            if limits.cut:
                return bytes(content[: limits.most_bytes])
            raise HttpError(HttpFailure.TOO_LARGE, f"than {limits.most_bytes / MEGABYTE:g} MB")
    return bytes(content)


def _connecting(limits: HttpLimits) -> str:
    return f"within {min(limits.connect_seconds, limits.answer_seconds):g} s"


def _fault(error: Exception, limits: HttpLimits) -> HttpError:
    import httpcore2

    match error:
        case httpcore2.ConnectTimeout():
            return HttpError(HttpFailure.NOT_CONNECTED, _connecting(limits))
        case httpcore2.TimeoutException():
            return HttpError(HttpFailure.TIMED_OUT, f"within {limits.answer_seconds:g} s")
        case httpcore2.ConnectError():
            untrusted = "certificate" in str(error).lower()
            return HttpError(HttpFailure.NOT_TRUSTED if untrusted else HttpFailure.NOT_REACHABLE)
        case zlib.error():
            return HttpError(HttpFailure.BROKEN_COMPRESSION)
        case httpcore2.NetworkError() | httpcore2.ProtocolError():
            return HttpError(HttpFailure.BROKEN_OFF)
        case _:
            return HttpError(HttpFailure.FAILED, f"({error_kind(error)})")
