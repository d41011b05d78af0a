"""One HTTP request and its answer, within limits of time and size; no redirects, no proxies."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.rpc.errors import Malformed, RpcError, TimedOut, TooLarge, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from chain.rpc.endpoint import Endpoint
    from chain.rpc.requests import RequestLimits


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


_HEADERS = {
    "content-type": "application/json",
    "accept": "application/json",
    "accept-encoding": "gzip",
    "user-agent": "zuno",
}
_ENCODINGS = frozenset(("", "identity", "gzip"))


class HttpAnswer(Struct, frozen=True):
    status: int
    retry_after: str | None
    body: bytes


class HttpTransport:
    """The connections of one client; the HTTP library is loaded when the first is needed."""

    def __init__(self, endpoints: Sequence[Endpoint], limits: RequestLimits) -> None:
        self._limits = limits
        self._secure = any(endpoint.url.startswith("https:") for endpoint in endpoints)
        self._http: httpx2.AsyncHTTPTransport | None = None
        self.round_trips = 0

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer:
        """Send the bytes once; whatever goes wrong is raised as an error that holds no URL."""
        self.round_trips += 1
        http = self._opened()
        try:
            async with asyncio.timeout(seconds):
                if not endpoint.chain_checked:
                    await self._look_up(endpoint)
                return await self._exchange(http, endpoint, body, seconds, most_bytes)
        except RpcError as error:
            fault = error
        except TimeoutError:
            fault = TimedOut(seconds, endpoint=endpoint.label)
        except Exception as error:
            fault = self._fault(error, endpoint, seconds)
        # Raised out here so that the library's exception does not travel along as context.
        raise fault

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _look_up(self, endpoint: Endpoint) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                if await has_address(endpoint.host):
                    return
            fault: RpcError = Unreachable(
                "is a name that leads to no address", endpoint=endpoint.label, before_sending=True
            )
        except TimeoutError:
            fault = TimedOut(self._limits.connect_seconds, endpoint=endpoint.label, connecting=True)
        raise fault

    async def _exchange(
        self,
        http: httpx2.AsyncHTTPTransport,
        endpoint: Endpoint,
        body: bytes,
        seconds: float,
        most_bytes: int,
    ) -> HttpAnswer:
        import httpx2

        headers = dict(_HEADERS)
        if endpoint.authorization is not None:
            headers["authorization"] = endpoint.authorization
        limits = {"read": seconds, "write": seconds, "pool": seconds}
        limits["connect"] = min(seconds, self._limits.connect_seconds)
        request = httpx2.Request(
            "POST", endpoint.url, headers=headers, content=body, extensions={"timeout": limits}
        )
        response = await http.handle_async_request(request)
        try:
            encoding = response.headers.get("content-encoding", "").strip().lower()
            if encoding not in _ENCODINGS:
                raise Malformed("it is compressed in an unknown way", endpoint=endpoint.label)
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > most_bytes:
                    raise TooLarge(most_bytes, endpoint=endpoint.label)
        finally:
            await response.aclose()
        return HttpAnswer(response.status_code, response.headers.get("retry-after"), bytes(content))

    def _opened(self) -> httpx2.AsyncHTTPTransport:
        """The bare transport: httpx2's client would add redirects, cookies, proxies and logging."""
        if self._http is None:
            import httpx2  # a tenth of a second that `zuno --help` must not pay

            # At DEBUG the library would log hosts and headers, and its client whole URLs.
            for name in ("httpx2", "httpcore2"):
                logging.getLogger(name).setLevel(logging.WARNING)
            # Without https the certificates of the system, 60 ms of reading, are not needed; a
            # context that trusts nobody stands in for them.
            trust = True if self._secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._http = httpx2.AsyncHTTPTransport(verify=trust, trust_env=False)
        return self._http

    def _fault(self, error: Exception, endpoint: Endpoint, seconds: float) -> RpcError:
        import httpx2

        label = endpoint.label
        match error:
            case httpx2.ConnectTimeout():
                waited = min(seconds, self._limits.connect_seconds)
                return TimedOut(waited, endpoint=label, connecting=True)
            case httpx2.TimeoutException():
                return TimedOut(seconds, endpoint=label)
            case httpx2.ConnectError():
                untrusted = "certificate" in str(error).lower()
                what = "has a certificate that is not trusted" if untrusted else "is not reachable"
                return Unreachable(what, endpoint=label, before_sending=True)
            case httpx2.DecodingError():
                return Malformed("its compression is broken", endpoint=label)
            case httpx2.NetworkError() | httpx2.ProtocolError():
                return Unreachable("broke the connection off", endpoint=label)
            case _:
                return Unreachable(f"could not be asked ({type(error).__name__})", endpoint=label)
