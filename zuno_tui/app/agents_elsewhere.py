"""Where a debate's agents run: on the mesh, where one is set up and all answer, or here."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chain.base.errors import Failure, ZunoError
from zuno_tui.settings.transport import TransportChoice

if TYPE_CHECKING:
    from agents.bus.run import RemoteAgents
    from agents.mesh.endpoint import MeshEndpoint
    from agents.mesh.peers import Peer
    from chain.base.home import Home
    from zuno_tui.app.session import Session

MESH_FOLDER = "mesh"
DESK_LOCK = "desk.lock"
_FAREWELL_SECONDS = 0.5
LOCAL = "local"


class MeshUnavailableError(ZunoError):
    """The mesh was asked for and cannot be used; the message says why."""

    failure = Failure.NETWORK


class AgentPlaces(Struct, frozen=True):
    """Where a debate runs, and who speaks from where."""

    transport: str = LOCAL
    """local, axl or nats."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """By role the peer who plays it, by name and key."""
    reason: str = ""
    """Why it is not the mesh; empty where it is, or where there is none."""

    @property
    def summary(self) -> str:
        """For the status line: which way, and who by name; empty where there is no mesh."""
        if self.transport != LOCAL:
            return f"{self.transport}: {', '.join(one.split()[0] for one in self.peers.values())}"
        return "mesh away" if self.reason else ""

    @property
    def words(self) -> str:
        if self.transport == LOCAL:
            return f"in this process. {self.reason}" if self.reason else "in this process"
        told = ", ".join(
            peer if peer.startswith(role) else f"{role} by {peer}"
            for role, peer in self.peers.items()
        )
        return f"over {self.transport}: {told}"


class SecondCritic(Struct, frozen=True):
    """Another Critic, of another owner than the first."""

    name: str
    gather: Callable[[], RemoteAgents]
    """The way to it, once the debate is over."""


class Gathering(Struct, frozen=True):
    remote: RemoteAgents | None
    places: AgentPlaces
    second: SecondCritic | None = None


def mesh_folder(home: Home) -> Path:
    return home.root / MESH_FOLDER


def mesh_not_asked(home: Home) -> str:
    """For the status line before anybody was asked; empty where no mesh is set up."""
    folder = mesh_folder(home)
    if not (folder / "member.json").exists():
        return ""
    from agents.mesh.peers import MeshFileError, read_member

    try:
        return f"{read_member(folder).engine} mesh, not asked yet"
    except MeshFileError:
        return "mesh set up wrongly"


def peer_words(peer: Peer) -> str:
    return f"{peer.name} {peer.key[:8]}"


@asynccontextmanager
async def gathered_agents(session: Session, choice: TransportChoice) -> AsyncIterator[Gathering]:
    """The agents of one debate: all on the mesh, or all here, with the reason."""
    folder = mesh_folder(session.home)
    is_set_up = (folder / "member.json").exists()
    if choice is TransportChoice.LOCAL or not (is_set_up or choice is TransportChoice.MESH):
        yield Gathering(None, AgentPlaces())
        return
    if not is_set_up:
        raise MeshUnavailableError("No mesh is set up. Make one: zuno mesh init")
    async with _on_the_mesh(session, folder) as found:
        if isinstance(found, str):
            if choice is TransportChoice.MESH:
                raise MeshUnavailableError(f"{found} Look: zuno mesh")
            yield Gathering(None, AgentPlaces(reason=found))
        else:
            yield found


@asynccontextmanager
async def _on_the_mesh(session: Session, folder: Path) -> AsyncIterator[Gathering | str]:
    """Everybody who is needed, or why not."""
    from contextlib import AsyncExitStack

    from agents.bus.record import running_versions
    from agents.bus.run import RemoteAgents
    from agents.lp.debate import LP_FLOW
    from agents.lp.payloads import CRITIC
    from agents.mesh.frame import MeshKeyError
    from agents.mesh.joining import joined
    from agents.mesh.peers import EngineError, MeshFileError, gather_roles
    from agents.mesh.transport import DeskTransport
    from chain.base.locks import locked_if_free

    async with AsyncExitStack() as stack:
        try:
            # Two pollers of one node would steal each other's messages.
            if not stack.enter_context(locked_if_free(folder / DESK_LOCK)):
                yield "Another zuno of this home is on the mesh just now."
                return
            endpoint, _, member = joined(folder, running_versions(LP_FLOW.package))
            await stack.enter_async_context(endpoint)
        except (MeshFileError, MeshKeyError, EngineError) as error:
            yield str(error)
            return
        gathered = await gather_roles(endpoint, LP_FLOW.handlers, twice=CRITIC)
        if gathered.missing:
            trouble = f" {endpoint.trouble}" if endpoint.trouble else ""
            yield gathered.reason + trouble
            return
        routes = gathered.routes
        transport = DeskTransport(endpoint, LP_FLOW.registry, routes, clock=time.time)
        peers = {str(role): _played_by(endpoint, peer) for role, peer in routes.items()}
        asking = tuple(role for role, peer in routes.items() if endpoint.asks(peer))
        remote = RemoteAgents(tuple(routes), transport, session.network.name, asking)
        second = None
        if gathered.second is not None:
            second = _second_critic(endpoint, gathered.second, session.network.name)
        yield Gathering(remote, AgentPlaces(str(member.engine), peers), second)
        await endpoint.drained(_FAREWELL_SECONDS)


def _played_by(endpoint: MeshEndpoint, peer: Peer) -> str:
    model = endpoint.asks(peer)
    return f"{peer_words(peer)} with {model}" if model else peer_words(peer)


def _second_critic(endpoint: MeshEndpoint, peer: Peer, network: str) -> SecondCritic:
    from agents.bus.run import RemoteAgents
    from agents.lp.second_opinion import SECOND_OPINION
    from agents.mesh.transport import DeskTransport

    def gather() -> RemoteAgents:
        routes = {peer.as_role: peer}
        transport = DeskTransport(endpoint, SECOND_OPINION.registry, routes, clock=time.time)
        return RemoteAgents((peer.as_role,), transport, network)

    return SecondCritic(peer_words(peer), gather)
