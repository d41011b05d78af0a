"""What goes wrong in the middle of a real debate: on the way, at a server, with an agent."""

import asyncio
import itertools
import json
import urllib.request

from agents.bus.envelope import FailureCause
from agents.bus.run import SpokenTurn
from agents.mesh.nats_engine import kept_subject, live_subject
from agents.mesh.peers import Engine, Peer, read_book
from agents.numbers.rules import RiskProfile
from tests.agents.mesh.processes import Held, Mesh, hold
from zuno_tui.app.agent_places import AgentPlaces
from zuno_tui.app.session import Session

BURST = 250
WAYS = {
    "loss": {"drop": 0.3},
    "reorder": {"reorder": 0.6},
    "repeat": {"duplicate": 0.5},
    "all of it": {"drop": 0.3, "reorder": 0.4, "duplicate": 0.2},
}
ROLES = ("scout", "strategist", "critic", "arbiter")
STAGES = ("start", "scout", "strategist", "critic")
"""From where on it is tried: when it begins, or when a turn of this role is heard."""
KILLS = tuple(f"kill {role} at {stage}" for role, stage in itertools.product(ROLES, STAGES))
NAMED = {
    *(FailureCause.LOST, FailureCause.CRASHED, FailureCause.DEADLINE),
    *(FailureCause.REFUSED, FailureCause.SILENT, FailureCause.UNREADABLE),
}


def faults_of(engine: Engine) -> tuple[str, ...]:
    """A real server neither loses nor repeats: what it does is to go and come back."""
    return (*(WAYS if engine is Engine.AXL else ()), "burst", "restart", *KILLS)


async def hold_through(
    mesh: Mesh, session: Session, fault: str, token_id: int, profile: RiskProfile, request_id: str
) -> Held:
    """A debate over the mesh in which this goes wrong; afterwards everybody is there again."""
    trouble = _Trouble(mesh, fault)
    if fault in WAYS:
        mesh.spoil(**WAYS[fault])
    try:
        return await hold(
            session,
            token_id,
            "mesh",
            request_id,
            profile=profile,
            on_places=trouble.on_places,
            on_turn=trouble.on_turn,
        )
    finally:
        await trouble.over()


class _Trouble:
    """Makes the trouble once, at its stage, off the loop that the debate runs on."""

    def __init__(self, mesh: Mesh, fault: str) -> None:
        self._mesh = mesh
        self._fault = fault
        self._stage = fault.rpartition(" at ")[2] if fault in KILLS else "start"
        self._making: asyncio.Task[None] | None = None

    def on_places(self, _places: AgentPlaces) -> None:
        self._at("start")

    def on_turn(self, turn: SpokenTurn) -> None:
        self._at(turn.role)

    async def over(self) -> None:
        if self._making is not None:
            await self._making
        if self._fault in WAYS:
            self._mesh.spoil()

    def _at(self, stage: str) -> None:
        if stage != self._stage or self._making is not None or self._fault in WAYS:
            return
        if self._fault in KILLS:
            # At once, and not when the loop has time for it.
            self._mesh.agents[self._victim].kill()
        self._making = asyncio.create_task(self._make())

    @property
    def _victim(self) -> str:
        return self._fault.split()[1]

    async def _make(self) -> None:
        if self._fault in KILLS:
            await asyncio.to_thread(self._mesh.restart_agent, self._victim)
        elif self._fault == "restart":
            await asyncio.to_thread(self._mesh.restart_way)
        elif self._mesh.engine is Engine.AXL:
            await asyncio.to_thread(_flood_nodes, self._mesh)
        else:
            await _flood_server(self._mesh)


def _flood_nodes(mesh: Mesh) -> None:
    """More than a queue holds, from the desk's node to everybody's."""
    config = json.loads((mesh.member_folder("desk") / "node.json").read_bytes())
    for _, peer in itertools.product(range(BURST // 4), _others(mesh)):
        request = urllib.request.Request(
            f"http://127.0.0.1:{config['api_port']}/send",
            b"noise",
            {"X-Destination-Peer-Id": str(peer.node)},
            method="POST",
        )
        urllib.request.urlopen(request).close()


async def _flood_server(mesh: Mesh) -> None:
    import nats

    client = await nats.connect(f"nats://127.0.0.1:{mesh.server_port}")
    for number, peer in itertools.product(range(BURST // 4), _others(mesh)):
        subject = live_subject if number % 2 else kept_subject
        await client.publish(subject("zuno", peer), b"noise")
    await client.drain()


def _others(mesh: Mesh) -> tuple[Peer, ...]:
    return tuple(peer for peer in read_book(mesh.member_folder("desk")).peers if peer.role != "cli")
