"""Asking a market data server over HTTP: one GET, bounded in time and size, never redirected."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from chain.base.clean_text import clean_text
from chain.base.strict_json import InvalidJsonError, loads
from chain.rpc.retry_after import seconds_asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

MOST_REST_SECONDS = 300.0
_REST_SECONDS = 60.0
"""How long a server is left alone that is too busy and does not say for how long."""

_TOO_MANY_REQUESTS = 429
_OK = 200


class MarketError(Exception):
    """Market data could not be had: a phrase that can stand after "unknown:"."""


class MarketLimits(Struct, frozen=True):
    connect_seconds: float = 3.0
    answer_seconds: float = 5.0
    """From the request to the last byte, however slowly the bytes drip."""
    most_bytes: int = 4_000_000


class MarketHttp:
    """The connection to one server; a server that asks for rest gets it."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, name: str, limits: MarketLimits
    ) -> None:
        part = urlsplit(base_url)
        if part.scheme not in ("http", "https") or not part.hostname:
            raise MarketError(f"the address set for {name} is not an http or https address")
        self._base_url = base_url.rstrip("/")
        self._headers = {"accept": "application/json", "user-agent": "zuno", **headers}
        self._name = name
        self._limits = limits
        self._client: httpx2.AsyncClient | None = None
        self._rests_until = 0.0

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def get(self, path: str, parameters: Mapping[str, str], *, now: float) -> object:
        """The JSON at this path."""
        if now < self._rests_until:
            wait = self._rests_until - now
            raise MarketError(f"{self._name} asked to be left alone for {wait:.0f} s more")
        import httpx2  # a tenth of a second that a command without prices must not pay

        url = f"{self._base_url}{path}?{urlencode(parameters, safe=',')}"
        seconds = self._limits.answer_seconds
        try:
            async with asyncio.timeout(seconds):
                body = await self._fetched(url, now)
        except (TimeoutError, httpx2.TimeoutException):
            reason = f"{self._name} did not answer within {seconds:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"{self._name} could not be asked ({type(error).__name__})"
        else:
            return self._parsed(body)
        # Raised out here because the library's exception, as context, would show the URL.
        raise MarketError(reason)

    async def _fetched(self, url: str, now: float) -> bytes:
        async with self._opened().stream("GET", url) as response:
            if response.status_code == _TOO_MANY_REQUESTS:
                asked = seconds_asked(response.headers.get("retry-after"), now)
                wait = min(_REST_SECONDS if asked is None else asked, MOST_REST_SECONDS)
                self._rests_until = now + wait
                raise MarketError(f"{self._name} asked to be left alone for {wait:.0f} s")
            if response.status_code != _OK:
                raise MarketError(f"{self._name} answered with HTTP status {response.status_code}")
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self._limits.most_bytes:
                    megabytes = self._limits.most_bytes / 10**6
                    raise MarketError(f"{self._name} sent more than {megabytes:g} MB")
            return bytes(body)

    def _parsed(self, body: bytes) -> object:
        try:
            return loads(body)
        except InvalidJsonError as error:
            raise MarketError(f"{self._name}'s answer is wrong: {clean_text(str(error))}") from None

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            seconds = self._limits.answer_seconds
            # Without https the system's certificates, 60 ms of reading, are not needed; a context
            # that trusts nobody stands in for them.
            secure = self._base_url.startswith("https:")
            self._client = httpx2.AsyncClient(
                headers=self._headers,
                timeout=httpx2.Timeout(seconds, connect=self._limits.connect_seconds),
                verify=True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                follow_redirects=False,
                trust_env=False,
            )
        return self._client
