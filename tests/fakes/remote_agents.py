"""Roles that are played by hosts of their own, with all they say going through the desk."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, Envelope, FlowTerms, Role
from agents.bus.host import AgentHost
from agents.bus.run import RemoteAgents
from agents.bus.worker import Ambient, QueueTransport, Services


class ToDesk:
    """An agent's way to a desk in the same process: all it says is received as the desk."""

    def __init__(self, desk: QueueTransport, alter: Callable[[Envelope], Envelope]) -> None:
        self._desk = desk
        self._alter = alter

    async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
        await self._desk.put(CLI, self._alter(envelope))
        return True

    async def receive(self, role: Role) -> Envelope:
        return await self._desk.receive(role)


@asynccontextmanager
async def hosted_agents(
    spec: FlowSpec[Services],
    *roles: Role,
    services: Callable[[str, FlowTerms], Services],
    alter: Callable[[Envelope], Envelope] = lambda envelope: envelope,
    desk: QueueTransport | None = None,
) -> AsyncIterator[RemoteAgents]:
    transport = desk or QueueTransport(spec.registry.roles)
    ambient = Ambient(time.time, lambda: "unused")
    hosts = [
        AgentHost(spec, role, ToDesk(transport, alter), services, ambient=ambient) for role in roles
    ]
    running = [asyncio.create_task(host.run()) for host in hosts]
    try:
        yield RemoteAgents(roles, transport)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
