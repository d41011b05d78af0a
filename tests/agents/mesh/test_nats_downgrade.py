"""Whoever answers without TLS where TLS is wanted hears nothing, and is only a failed attempt."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from agents.mesh.nats_engine import NatsEngine
from agents.mesh.peers import EngineError
from tests.agents.mesh.processes import nats_program
from tests.agents.mesh.test_nats_access import (
    BOOK,
    IN_URL,
    NAME,
    PEER,
    member_of,
    server,
    write_certificates,
)
from tests.waiting import HUNG_SECONDS, until

pytestmark = pytest.mark.real_time

INFO = {"server_id": "liar", "version": "2.15.2", "proto": 1, "headers": True, "max_payload": 2**20}


class Line:
    """Between a member and its server: lets all through, or answers itself without TLS."""

    def __init__(self, server: int | None) -> None:
        self.server = server
        """None while it answers itself."""
        self.heard = b""
        """What it was told without TLS."""
        self.answered = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            if self.server is None:
                self.answered += 1
                writer.write(b"INFO " + json.dumps({**INFO, "auth_required": True}).encode())
                writer.write(b"\r\n")
                while told := await reader.read(4096):
                    self.heard += told
                    if b"PING\r\n" in told:
                        writer.write(b"PONG\r\n")
            else:
                theirs, ours = await asyncio.open_connection("127.0.0.1", self.server)
                self._open.add(ours)
                await asyncio.gather(_copied(reader, ours), _copied(theirs, writer))
        writer.close()

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def line_to(server: int | None) -> AsyncIterator[tuple[Line, int]]:
    line = Line(server)
    listening = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    try:
        yield line, listening.sockets[0].getsockname()[1]
    finally:
        line.cut()
        listening.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_certificates(tmp_path, "authority", "server")
    return tmp_path


@pytest.mark.parametrize("user", ["", f"{NAME}:{IN_URL}@"])
async def test_a_server_without_tls_is_told_nothing_at_all(folder: Path, user: str) -> None:
    async with line_to(None) as (line, port):
        member = member_of(folder, f"tls://{user}127.0.0.1:{port}", authority="authority.pem")
        with pytest.raises(EngineError, match="without TLS"):
            await NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS).open()
        assert line.answered == 1, "no further try would end otherwise"
        assert line.heard == b""


@pytest.mark.skipif(nats_program() is None, reason="no nats-server: make nats-server")
@pytest.mark.parametrize("user", ["", f"{NAME}:{IN_URL}@"])
async def test_a_reconnect_is_held_to_tls_too_and_goes_on_trying(folder: Path, user: str) -> None:
    tls = f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key" }}\n'
    known = f'authorization {{ user: "{NAME}", password: "p@ss word" }}\n' if user else ""
    with server(folder, tls + known) as real:
        async with line_to(real) as (line, port):
            member = member_of(folder, f"tls://{user}127.0.0.1:{port}", authority="authority.pem")
            engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
            await engine.open()
            try:
                line.server = None
                line.cut()
                await until(lambda: line.answered >= 3)
                assert "without TLS" in engine.broken
                with pytest.raises(EngineError):
                    await engine.send(PEER, b"secret", keep=False)
                line.server = real
                line.cut()
                await until(lambda: not engine.broken)
                await engine.send(PEER, b"hello", keep=False)
                assert await engine.receive() == (b"hello",)
            finally:
                await engine.close()
            assert line.heard == b""
