"""The one place that loads the openai package: late, in a thread, with its defaults tamed."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    import openai

    from agents.model.settings import ModelSettings


class ReplyTooLargeError(Exception):
    """More bytes came than anyone asked for."""


class CompressedReplyError(Exception):
    """A compressed reply: how large it becomes is not known until it is."""


class CappedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport, most_bytes: int) -> None:
        self._inner = inner
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            await response.aclose()
            raise CompressedReplyError
        body = response.stream
        assert isinstance(body, httpx2.AsyncByteStream)
        response.stream = _CappedStream(body, self._most_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CappedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most_bytes: int) -> None:
        self._inner = inner
        self._left = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._left -= len(piece)
            if self._left < 0:
                raise ReplyTooLargeError
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class Connection:
    """Connections to one endpoint, shared by all debates of one event loop."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client: openai.AsyncOpenAI | None = None
        self._loading = asyncio.Lock()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def client(self) -> openai.AsyncOpenAI:
        async with self._loading:
            if self._client is None:
                # A second of imports and certificates that may not stop the screen.
                self._client = await asyncio.to_thread(_connect, self._settings)
            return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None


def _connect(settings: ModelSettings) -> openai.AsyncOpenAI:
    import httpx2
    import openai

    # At INFO they log whole URLs, at DEBUG headers and prompts.
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    limits = settings.limits
    secure = settings.base_url.lower().startswith("https:")
    # Without https the system's certificates are not needed; this context trusts nobody.
    trust = True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx2.AsyncHTTPTransport(verify=trust, trust_env=False)
    return openai.AsyncOpenAI(
        api_key=settings.api_key,
        base_url=settings.base_url,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx2.AsyncClient(
            transport=CappedTransport(transport, limits.wire_bytes),
            timeout=httpx2.Timeout(limits.total_seconds, connect=limits.connect_seconds),
            follow_redirects=False,
            trust_env=False,
        ),
    )
