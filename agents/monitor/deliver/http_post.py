"""One JSON POST to somebody else's server: bounded in time and size, never redirected."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.rpc.retry_after import seconds_asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

_MOST_BYTES = 64_000


class PostError(Exception):
    """No answer came: a phrase without the URL, which may hold a token."""


class Posted(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: float | None
    """Seconds the server asked for in its header."""


class PostLimits(Struct, frozen=True):
    connect_seconds: float = 5.0
    answer_seconds: float = 15.0


class Poster:
    """Connections to one server."""

    def __init__(self, url: str, limits: PostLimits | None = None) -> None:
        self._url = url
        self._limits = PostLimits() if limits is None else limits
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def post(self, body: bytes, headers: Mapping[str, str], *, now: float) -> Posted:
        import httpx2  # a tenth of a second that a home without channels must not pay

        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await self._posted(body, headers, now)
        except (TimeoutError, httpx2.TimeoutException):
            reason = f"no answer within {self._limits.answer_seconds:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"it could not be reached ({type(error).__name__})"
        # Raised out here because the library's exception, as context, would show the URL.
        raise PostError(reason)

    async def _posted(self, body: bytes, headers: Mapping[str, str], now: float) -> Posted:
        async with self._opened().stream(
            "POST",
            self._url,
            content=body,
            headers={"content-type": "application/json", "user-agent": "zuno", **headers},
        ) as response:
            answer = bytearray()
            async for piece in response.aiter_bytes():
                answer += piece
                if len(answer) > _MOST_BYTES:
                    break
            return Posted(
                response.status_code,
                bytes(answer[:_MOST_BYTES]),
                seconds_asked(response.headers.get("retry-after"), now),
            )

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            # At INFO they log whole URLs, and Telegram's has the token in it.
            for name in ("httpx2", "httpcore2"):
                logging.getLogger(name).setLevel(logging.WARNING)
            secure = self._url.lower().startswith("https:")
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(
                    self._limits.answer_seconds, connect=self._limits.connect_seconds
                ),
                # Without https no certificates are needed; this context trusts nobody.
                verify=True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                follow_redirects=False,
                trust_env=False,
            )
        return self._client
