"""A debate's agents on the mesh: everybody who is needed, or why not."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from chain.base.clean_text import clean_text
from chain.base.home import Home, locked_if_free
from zuno_tui.app.agent_places import AgentPlaces, Gathering, SecondCritic
from zuno_tui.app.session import Session

if TYPE_CHECKING:
    from agents.bus.run import RemoteAgents
    from agents.mesh.endpoint import MeshEndpoint
    from agents.mesh.peers import Peer

MESH_FOLDER = "mesh"
DESK_LOCK = "desk.lock"
_FAREWELL_SECONDS = 0.5


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
    owner = f" of {clean_text(peer.owner, limit=32)}" if peer.owner else ""
    return f"{peer.name} {peer.key[:8]}{owner}"


@asynccontextmanager
async def on_the_mesh(session: Session) -> AsyncIterator[Gathering | str]:
    """Everybody who is needed, or why not; an empty word where no mesh is set up."""
    folder = mesh_folder(session.home)
    if not (folder / "member.json").exists():
        yield ""
        return
    from agents.bus.record import running_versions
    from agents.bus.run import RemoteAgents
    from agents.lp.debate import LP_FLOW
    from agents.lp.payloads import CRITIC
    from agents.mesh.frame import MeshKeyError
    from agents.mesh.gathering import gather_roles
    from agents.mesh.joining import join_mesh
    from agents.mesh.peers import EngineError, MeshFileError
    from agents.mesh.transport import DeskTransport

    async with AsyncExitStack() as stack:
        try:
            # Two pollers of one node would steal each other's messages.
            if not stack.enter_context(locked_if_free(folder / DESK_LOCK)):
                yield "Another zuno of this home is on the mesh just now."
                return
            endpoint, _, member = join_mesh(folder, running_versions(LP_FLOW.package))
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
        here = tuple(map(str, gathered.here))
        yield Gathering(remote, AgentPlaces(str(member.engine), peers, here), second)
        await endpoint.wait_drained(_FAREWELL_SECONDS)


def _played_by(endpoint: MeshEndpoint, peer: Peer) -> str:
    model = endpoint.asks(peer)
    return f"{peer_words(peer)} with {model}" if model else peer_words(peer)


def _second_critic(endpoint: MeshEndpoint, peer: Peer, network: str) -> SecondCritic:
    from agents.bus.run import RemoteAgents
    from agents.lp.rebuild import SECOND_OPINION
    from agents.mesh.transport import DeskTransport

    def gather() -> RemoteAgents:
        routes = {peer.as_role: peer}
        transport = DeskTransport(endpoint, SECOND_OPINION.registry, routes, clock=time.time)
        return RemoteAgents((peer.as_role,), transport, network)

    return SecondCritic(peer_words(peer), gather)
