"""A way to agents in other processes: envelopes as lines over pipes, all through the desk."""

import asyncio
from collections.abc import Mapping

from agents.bus.envelope import CLI, Envelope, Registry, Role
from agents.bus.worker import QueueTransport, TransportError

MOST_LINE = 1 << 21


class DeskEnd:
    """The desk's end: roles here by queues, each of the others by the pipe to its process."""

    def __init__(
        self, registry: Registry, remote: Mapping[Role, asyncio.subprocess.Process]
    ) -> None:
        self._registry = registry
        self._remote = remote
        self._here = QueueTransport([role for role in registry.roles if role not in remote])
        self._reading = [
            asyncio.create_task(self._read(role, process)) for role, process in remote.items()
        ]

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        process = self._remote.get(envelope.recipient)
        if process is None:
            return await self._here.send(envelope, droppable=droppable)
        assert process.stdin is not None
        try:
            process.stdin.write(envelope.wire + b"\n")
            await process.stdin.drain()
        except ConnectionError:
            raise TransportError(f"The process of {envelope.recipient} is gone.") from None
        return True

    async def receive(self, role: Role) -> Envelope:
        return await self._here.receive(role)

    def close(self) -> None:
        for task in self._reading:
            task.cancel()

    async def _read(self, role: Role, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            envelope = self._registry.open(line.rstrip(b"\n"), sender=role)
            await self._here.put(CLI, envelope)


class AgentEnd:
    """An agent's end: whatever it says goes to the desk, whoever it is for."""

    def __init__(
        self, registry: Registry, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._registry = registry
        self._reader = reader
        self._writer = writer

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        self._writer.write(envelope.wire + b"\n")
        await self._writer.drain()
        return True

    async def receive(self, role: Role) -> Envelope:
        line = await self._reader.readline()
        if not line:
            raise EOFError
        return self._registry.open(line.rstrip(b"\n"))
