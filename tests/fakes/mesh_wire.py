"""A mesh inside one process: peers, their keys, and a way that loses, repeats and reorders."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, FlowTerms, Role
from agents.bus.host import AgentHost
from agents.bus.run import RemoteAgents
from agents.bus.worker import Ambient, BusLimits, Services
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.frame import PeerSigningKey, new_key
from agents.mesh.peers import Peer, PeerBook
from agents.mesh.transport import AgentTransport, DeskTransport

THOUGHT_PATIENCE = 15.0
VERSIONS = {"zuno": "test", "rules": "same"}


@dataclass
class Wire:
    """Carries bytes to peers by their keys."""

    seed: int = 7
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    queue: int = 0
    """What an inbox holds before it drops the oldest; 0 is no end."""
    carried: list[tuple[str, bytes]] = field(default_factory=list)
    """Everything that was sent, with whom it was for."""
    inboxes: dict[str, asyncio.Queue[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def carry(self, to: str, data: bytes) -> None:
        self.carried.append((to, data))
        if self._random.random() < self.drop:
            return
        for _ in range(2 if self._random.random() < self.duplicate else 1):
            late = self._random.random() < self.reorder
            wait = self._random.uniform(0, 0.05) if late else 0.0
            asyncio.get_running_loop().call_later(wait, self.inject, to, data)

    def inject(self, to: str, data: bytes) -> None:
        inbox = self.inboxes.get(to)
        if inbox is None:
            return
        if self.queue and inbox.qsize() >= self.queue:
            inbox.get_nowait()
        inbox.put_nowait(data)


@dataclass
class WireEngine:
    wire: Wire
    me: str

    async def open(self) -> None:
        self.wire.inboxes[self.me] = asyncio.Queue()

    async def send(self, peer: Peer, data: bytes, *, keep: bool) -> None:
        self.wire.carry(peer.key, data)

    async def receive(self) -> tuple[bytes, ...]:
        return (await self.wire.inboxes[self.me].get(),)

    async def close(self) -> None:
        self.wire.inboxes.pop(self.me, None)


@dataclass(frozen=True)
class Members:
    """Everybody's keys, by name: the desk is `desk`, agents are called like their roles."""

    keys: dict[str, PeerSigningKey]
    book: PeerBook

    def peer(self, name: str) -> Peer:
        peer = self.book.find(name)
        assert peer is not None
        return peer


def new_members(roles: Iterable[Role]) -> Members:
    named = [("desk", CLI), *((str(role), role) for role in roles)]
    keys = {name: new_key() for name, _ in named}
    peers = tuple(Peer(name, role, keys[name].name) for name, role in named)
    return Members(keys, PeerBook("test", peers))


def endpoint(members: Members, name: str, wire: Wire, **others: object) -> MeshEndpoint:
    key = members.keys[name]
    versions = others.pop("versions", VERSIONS)
    assert isinstance(versions, dict)
    return MeshEndpoint(key, members.book, WireEngine(wire, key.name), versions=versions)


@asynccontextmanager
async def agent_on(
    wire: Wire,
    members: Members,
    spec: FlowSpec[Services],
    role: Role,
    services: Callable[[str, FlowTerms], Services],
    limits: BusLimits | None = None,
) -> AsyncIterator[AgentHost[Services]]:
    async with endpoint(members, role, wire) as ours:
        transport = AgentTransport(ours, spec.registry, role, clock=time.time)
        ambient = Ambient(time.time, lambda: "unused")
        host = AgentHost(spec, role, transport, services, ambient=ambient, limits=limits)
        running = asyncio.create_task(host.run())
        for desk in members.book.of_role(CLI):
            ours.greet(desk)
        try:
            yield host
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def desk_on(
    wire: Wire, members: Members, spec: FlowSpec[Services], *roles: Role
) -> AsyncIterator[RemoteAgents]:
    async with endpoint(members, "desk", wire) as ours:
        peers = tuple(members.peer(role) for role in roles)
        assert await ours.meet(peers, 10) == peers
        routes = dict(zip(roles, peers, strict=True))
        # A lossy wire beside a busy machine needs its time: what is given up is not on record.
        transport = DeskTransport(
            ours, spec.registry, routes, clock=time.time, thought_patience=THOUGHT_PATIENCE
        )
        yield RemoteAgents(roles, transport)


@asynccontextmanager
async def mesh_of(
    spec: FlowSpec[Services],
    *roles: Role,
    services: Callable[[str, FlowTerms], Services],
    wire: Wire | None = None,
) -> AsyncIterator[RemoteAgents]:
    """A desk and an agent for each of these roles, over one wire."""
    carried = wire or Wire()
    members = new_members(roles)
    async with AsyncExitStack() as stack:
        for role in roles:
            await stack.enter_async_context(agent_on(carried, members, spec, role, services))
        yield await stack.enter_async_context(desk_on(carried, members, spec, *roles))
