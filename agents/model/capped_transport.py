"""A cap on what a model's endpoint may send, whatever library reads it."""

from collections.abc import AsyncIterator

import httpx2


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
