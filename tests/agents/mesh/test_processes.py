"""Five peers in processes of their own give the plans that one process gives, byte for byte."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest

from agents.bus.payload import FailureCause
from agents.bus.replay import read_record
from agents.lp.debate import replay_debate
from agents.mesh.peers import Engine
from agents.numbers.profiles import RiskProfile
from chain.base.home import Home
from tests.agents.conftest import positions_by_state
from tests.agents.mesh.processes import (
    Mesh,
    hold,
    nats_program,
    running_mesh,
    session_on,
    terminate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady

ENGINES = [
    Engine.AXL,
    pytest.param(
        Engine.NATS,
        marks=pytest.mark.skipif(
            nats_program() is None,
            reason="no nats-server: make nats-server, or apt install nats-server",
        ),
    ),
]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else is slow to answer, and that is not what is tried here."""
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 40.0)
    monkeypatch.setattr("zuno_tui.session.debate._QUIET_ELSEWHERE", 30.0)


@pytest.fixture(params=ENGINES, scope="module")
def mesh(
    request: pytest.FixtureRequest, devnet: DevnetReady, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mesh]:
    folder = tmp_path_factory.mktemp(str(request.param))
    with running_mesh(folder, request.param, devnet) as running:
        yield running


async def compare(mesh: Mesh, devnet: DevnetReady, count: int) -> None:
    session = session_on(mesh.home, devnet)
    # What was advised earlier is remembered in the home, and so part of what is argued from.
    alone = Home(mesh.folder / "alone", mesh.folder / "cache")
    alone.prepare()
    local = session_on(alone, devnet)
    tokens = sorted(positions_by_state(devnet.url).values())
    asked = itertools.islice(itertools.cycle(itertools.product(tokens, RiskProfile)), count)
    for number, (token_id, profile) in enumerate(asked):
        name = f"{mesh.engine}{number}-{time.time_ns()}"
        here = await hold(local, token_id, "local", f"here-{name}", profile=profile)
        there = await hold(session, token_id, "mesh", f"there-{name}", profile=profile)
        [places] = there.places
        assert places.transport == mesh.engine
        assert set(places.peers) == {"scout", "strategist", "critic", "arbiter"}
        assert there.plan_bytes == here.plan_bytes
        assert there.transcript == here.transcript
        record = read_record(session.home.records / f"there-{name}.jsonl")
        report, _ = await replay_debate(record)
        assert report.matches, report.difference
        assert record.inputs()["agents"] == dict(places.peers)


async def test_a_debate_over_the_mesh_gives_the_same_plan(mesh: Mesh, devnet: DevnetReady) -> None:
    await compare(mesh, devnet, 2)


@pytest.mark.soak
async def test_twenty_debates_over_the_mesh_give_the_same_plans(
    mesh: Mesh, devnet: DevnetReady
) -> None:
    await compare(mesh, devnet, 20)


async def test_an_agent_that_is_killed_is_told_of_and_comes_back(
    mesh: Mesh, devnet: DevnetReady, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_on(mesh.home, devnet)
    token_id = min(positions_by_state(devnet.url).values())
    mesh.kill_agent("critic")
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 2.0)
    held = await hold(session, token_id, "auto", f"killed-{mesh.engine}")
    assert held.places[-1].transport == "local"
    assert "critic" in held.places[-1].reason
    assert held.debated.ended.plan is not None
    mesh.start_agent("critic")
    mesh.wait_until_ready("critic", 2)
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 40.0)
    again = await hold(session, token_id, "mesh", f"again-{mesh.engine}")
    assert again.plan_bytes == held.plan_bytes


async def test_an_agent_ends_when_it_is_told_to(mesh: Mesh) -> None:
    assert terminate(mesh.agents["arbiter"]) == 0
    assert '"event":"stopped"' in mesh.log("arbiter")
    mesh.start_agent("arbiter")
    mesh.wait_until_ready("arbiter", 2)


async def test_a_server_or_nodes_that_are_gone_are_told_of(
    devnet: DevnetReady, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mesh = Mesh(tmp_path_factory.mktemp("gone"), Engine.AXL, devnet)
    mesh.lay_out()
    session = session_on(mesh.home, devnet)
    token_id = min(positions_by_state(devnet.url).values())
    held = await hold(session, token_id, "auto", "gone")
    assert held.places[-1].transport == "local"
    assert "AXL node" in held.places[-1].reason
    assert held.failure is None or held.failure.cause is not FailureCause.LOST
