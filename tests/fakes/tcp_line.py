"""A line to a server on this machine that can be cut and mended, whatever is spoken over it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class TcpLine:
    def __init__(self, url: str) -> None:
        self._port = urlsplit(url).port
        self._own_port = 0
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self._own_port}/?key=a-key-that-is-never-shown"

    async def mend(self) -> None:
        self._listener = await asyncio.start_server(self._joined, "127.0.0.1", self._own_port)
        self._own_port = self._listener.sockets[0].getsockname()[1]

    def cut(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, far_writer}
        self._writers |= ends
        await asyncio.gather(_carried(reader, far_writer), _carried(far_reader, writer))
        self._writers -= ends


async def _carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def tcp_line(url: str) -> AsyncIterator[TcpLine]:
    line = TcpLine(url)
    await line.mend()
    try:
        yield line
    finally:
        line.cut()
