"""How soon a desk says that its mesh is away, by its own patience, with agents as processes."""

import sys
import time
from pathlib import Path

import pytest

from agents.bus.envelope import FailureCause
from agents.mesh.peers import Engine
from chain.devnet.launch import DevnetReady
from tests.agents.conftest import positions_by_state
from tests.agents.mesh.processes import Held, Mesh, hold, nats_program, running_mesh, session_on
from zuno_tui.app.agent_places import AgentPlaces

pytestmark = [pytest.mark.soak, pytest.mark.real_time]

NO_SERVER = pytest.mark.skipif(
    nats_program() is None, reason="no nats-server: make nats-server, or apt install nats-server"
)
ENGINES = [Engine.AXL, pytest.param(Engine.NATS, marks=NO_SERVER)]


async def timed(
    mesh: Mesh, devnet: DevnetReady, transport: str, *, dying: bool = False
) -> tuple[Held, float]:
    """A debate, and the seconds from its start, or from the mesh's death, to its last word."""
    began = time.monotonic()

    def die(places: AgentPlaces) -> None:
        nonlocal began
        if dying and places.transport != "local":
            began = time.monotonic()
            kill_way(mesh)

    token_id = positions_by_state(devnet.url)["healthy"]
    session = session_on(mesh.home, devnet)
    held = await hold(session, token_id, transport, f"timed-{time.time_ns()}", on_places=die)
    return held, time.monotonic() - began


def tell(engine: Engine, what: str, seconds: float) -> None:
    sys.stdout.write(f"\n{engine}, {what} after {seconds:.1f} s\n")


def kill_way(mesh: Mesh) -> None:
    """The server, or every node."""
    if mesh.engine is Engine.NATS:
        assert mesh.server is not None
        mesh.server.kill()
        mesh.server.wait()
    for node in mesh.nodes.values():
        node.kill()


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_mesh_that_is_not_there_is_left_at_once(
    engine: Engine, devnet: DevnetReady, tmp_path: Path
) -> None:
    mesh = Mesh(tmp_path, engine, devnet)
    mesh.lay_out()
    held, took = await timed(mesh, devnet, "auto")
    assert held.places[-1].transport == "local"
    assert held.places[-1].reason
    assert held.debated.ended.plan is not None
    tell(engine, "nothing runs: a plan by this process", took)


@pytest.mark.parametrize("engine", ENGINES)
async def test_one_agent_that_is_missing_or_a_way_that_dies_is_told(
    engine: Engine, devnet: DevnetReady, tmp_path: Path
) -> None:
    with running_mesh(tmp_path, engine, devnet) as mesh:
        mesh.kill_agent("critic")
        held, took = await timed(mesh, devnet, "auto")
        assert held.places[-1].transport == "local"
        assert "critic" in held.places[-1].reason
        assert held.debated.ended.plan is not None
        tell(engine, "no Critic: a plan by this process", took)
        mesh.start_agent("critic")
        mesh.wait_until_ready("critic", 2)
        held, took = await timed(mesh, devnet, "mesh", dying=True)
        assert held.failure is not None
        assert held.failure.cause is FailureCause.LOST
        tell(engine, f"it dies once a debate began: {held.failure.cause}", took)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_way_that_dies_before_a_word_was_said_is_left(
    engine: Engine, devnet: DevnetReady, tmp_path: Path
) -> None:
    with running_mesh(tmp_path, engine, devnet) as mesh:
        held, took = await timed(mesh, devnet, "auto", dying=True)
        assert held.places[-1].transport == "local"
        assert held.places[-1].reason
        assert held.debated.ended.plan is not None
        tell(engine, "it dies before a word: a plan by this process", took)
