"""A whole mesh of the liquidity debate in this process: real files, keys and agents, one wire."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.bus.bus import FlowSpec
from agents.bus.envelope import Role
from agents.bus.host import AgentHost
from agents.bus.record import running_versions
from agents.bus.worker import Ambient
from agents.lp.debate import LP_FLOW
from agents.lp.payloads import CRITIC
from agents.lp.services import DebateServices, Eyes
from agents.mesh.frame import read_key
from agents.mesh.joining import join_mesh
from agents.mesh.layout import DESK, MeshPlan, lay_out, planned_members
from agents.mesh.peers import KEY_FILE, Engine, read_member
from agents.mesh.transport import AgentTransport
from tests.agents.lp.debating import watching
from tests.fakes.mesh_wire import Wire, WireEngine
from zuno_tui.features.mesh.remote_agents import MESH_FOLDER


class WiredMesh:
    """The folders of a mesh whose AXL nodes are one wire."""

    def __init__(self, home: Path, wire: Wire, *, critics: int = 1) -> None:
        self.wire = wire
        self._home = home
        members = planned_members(LP_FLOW.handlers, {}, critics=critics, critic=CRITIC)
        self.roles = {one.name: one.role for one in members if one.name != DESK}
        self._folders = {one.name: self.folder(one.name) for one in members}
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lay_out(MeshPlan("zuno", Engine.AXL, members, 9600), self._folders)

    def folder(self, name: str) -> Path:
        return self._home / MESH_FOLDER if name == DESK else self._home.parent / "members" / name

    def carry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let every member's node be a place on the wire."""
        keys = {
            read_member(folder).url: read_key(folder / KEY_FILE).name
            for folder in self._folders.values()
        }
        monkeypatch.setattr(
            "agents.mesh.joining.AxlEngine", lambda url: WireEngine(self.wire, keys[url])
        )

    @asynccontextmanager
    async def agents(
        self,
        url: str,
        *,
        without: Iterable[str] = (),
        specs: dict[str, FlowSpec[DebateServices]] | None = None,
    ) -> AsyncIterator[None]:
        """Everybody but these, at work on this chain; some by handlers of their own."""
        async with AsyncExitStack() as stack:
            eyes = await stack.enter_async_context(watching(url))
            for name in self.roles:
                if name not in without:
                    spec = (specs or {}).get(name, LP_FLOW)
                    await stack.enter_async_context(self.agent(name, eyes, spec))
            yield

    @asynccontextmanager
    async def agent(
        self, name: str, eyes: Eyes, spec: FlowSpec[DebateServices] = LP_FLOW
    ) -> AsyncIterator[None]:
        endpoint, _, _ = join_mesh(self.folder(name), running_versions(LP_FLOW.package))
        role: Role = self.roles[name]
        async with endpoint:
            host: AgentHost[Any] = AgentHost(
                spec,
                role,
                AgentTransport(endpoint, spec.registry, role, clock=time.time),
                lambda _request, _terms: DebateServices(eyes, None),
                ambient=Ambient(time.time, lambda: "unused"),
            )
            running = asyncio.create_task(host.run())
            try:
                yield
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
