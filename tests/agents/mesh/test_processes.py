"""Five peers in processes of their own give the plans that one process gives, byte for byte."""

import asyncio
import itertools
import os
import subprocess
import sys
import sysconfig
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.bus.envelope import FailureCause
from agents.bus.replay import read_record
from agents.lp.debate import replay_debate
from agents.mesh.peers import Engine
from agents.numbers.rules import RiskProfile
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.agents.conftest import positions_by_state
from tests.agents.lp.honest_model import honest
from tests.agents.mesh.faults import NAMED, faults_of, hold_through
from tests.agents.mesh.processes import (
    Held,
    Mesh,
    hold,
    nats_program,
    running_mesh,
    session_on,
    terminate,
)
from tests.fakes.model_endpoint import says
from tests.fakes.model_in_a_thread import model_in_a_thread
from zuno_tui.app.agent_places import AgentPlaces
from zuno_tui.present.exit_codes import NETWORK

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[3]
NOBODY = 65_534
WHAT_OPENS_KEYS = {
    f"chain.wallet.{name}" for name in ("keystore", "signer", "keyring_store", "secrets")
}
NO_SERVER = pytest.mark.skipif(
    nats_program() is None, reason="no nats-server: make nats-server, or apt install nats-server"
)
ENGINES = [Engine.AXL, pytest.param(Engine.NATS, marks=NO_SERVER)]
CHEAPER = [pytest.param(Engine.AXL, marks=pytest.mark.soak), ENGINES[1]]
"""Where what is tried lies above the transport: nodes of AXL cost ten times a server's start."""
DEADLINE = 240.0
"""After which a debate can only be hanging."""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else is slow to answer, and that is not what is tried here."""
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 40.0)
    monkeypatch.setattr("zuno_tui.app.debate_setup._QUIET_ELSEWHERE", 30.0)


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
        assert there.failure == here.failure
        if here.failure is None:
            assert there.plan_bytes == here.plan_bytes
        assert there.transcript == here.transcript
        record = read_record(session.home.records / f"there-{name}.jsonl")
        report, _ = await replay_debate(record)
        assert report.matches, report.difference
        assert record.inputs()["agents"] == dict(places.peers)


async def test_a_debate_over_the_mesh_gives_the_same_plan(mesh: Mesh, devnet: DevnetReady) -> None:
    await compare(mesh, devnet, 1)


@pytest.mark.soak
async def test_twenty_debates_over_the_mesh_give_the_same_plans(
    mesh: Mesh, devnet: DevnetReady
) -> None:
    await compare(mesh, devnet, 20)


@pytest.mark.parametrize("mesh", CHEAPER, indirect=True)
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


@pytest.mark.parametrize("mesh", CHEAPER, indirect=True)
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


@pytest.mark.parametrize("mesh", CHEAPER, indirect=True)
async def test_a_models_words_are_heard_on_the_desk_while_it_speaks(
    mesh: Mesh, devnet: DevnetReady
) -> None:
    """A model as Critic on one peer, the rules on the others."""
    session = session_on(mesh.home, devnet)
    mesh.kill_agent("critic")
    with model_in_a_thread(says(honest, size=12, pause=0.05)) as environment:
        mesh.environment = environment
        mesh.start_agent("critic")
        mesh.wait_until_ready("critic", mesh.log("critic").count('"event":"ready"') + 1)
        # The one that is worth arguing about: elsewhere the rule decides before a model is asked.
        token_id = positions_by_state(devnet.url)["above its range"]
        name = f"spoken-{time.time_ns()}"
        held = await hold(session, token_id, "mesh", name)
        mesh.environment = {}
        mesh.kill_agent("critic")
        mesh.start_agent("critic")
    assert {role for role, text in held.prose if text} == {"critic"}
    first = held.prose.index(next(one for one in held.prose if one[1]))
    assert ("critic", "") in held.prose[first:]
    assert held.debated.ended.plan is not None, held.failure
    record = read_record(session.home.records / f"{name}.jsonl")
    assert record.inputs()["model"] == ["critic"]
    assert {role for role, _ in record.replies()} == {"critic"}
    report, _ = await replay_debate(record)
    assert report.matches, report.difference


@pytest.mark.parametrize("mesh", [Engine.AXL], indirect=True)
async def test_nodes_that_die_in_the_middle_end_the_debate_by_name(
    mesh: Mesh, devnet: DevnetReady, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zuno_tui.app.debate_setup._QUIET_ELSEWHERE", 2.0)
    session = session_on(mesh.home, devnet)
    token_id = min(positions_by_state(devnet.url).values())

    def die(places: AgentPlaces) -> None:
        for node in mesh.nodes.values():
            node.kill()

    fails = await hold(session, token_id, "mesh", "dies", on_places=die)
    assert fails.failure is not None
    assert fails.failure.cause is FailureCause.LOST
    falls_back = await hold(session, token_id, "auto", "falls-back")
    assert falls_back.places[-1].transport == "local"
    assert falls_back.debated.ended.plan is not None
    mesh.restart_nodes(*mesh.nodes)


class Expected:
    """What the same debates come to in one process, each held once."""

    def __init__(self, folder: Path, devnet: DevnetReady) -> None:
        home = Home(folder / "expected", folder / "cache")
        home.prepare()
        self._session = session_on(home, devnet)
        self._found: dict[tuple[int, RiskProfile], Held] = {}

    async def of(self, token_id: int, profile: RiskProfile) -> Held:
        asked = token_id, profile
        if asked not in self._found:
            name = f"here-{token_id}-{profile.value}"
            self._found[asked] = await hold(self._session, token_id, "local", name, profile=profile)
        return self._found[asked]


async def judged_through(
    mesh: Mesh, devnet: DevnetReady, expected: Expected, fault: str, number: int
) -> str:
    """How a debate ends in which this goes wrong; it may not end wrongly, nor not at all."""
    tokens = sorted(positions_by_state(devnet.url).values())
    token_id = tokens[number % len(tokens)]
    profile = list(RiskProfile)[number // len(tokens) % len(RiskProfile)]
    here = await expected.of(token_id, profile)
    name = f"{mesh.engine}-{number}-{time.time_ns()}"
    session = session_on(mesh.home, devnet)
    async with asyncio.timeout(DEADLINE):
        there = await hold_through(mesh, session, fault, token_id, profile, name)
    if there.failure is None:
        assert there.plan_bytes == here.plan_bytes, fault
        return "a plan"
    if here.failure is not None and there.failure == here.failure:
        return "the same failure"
    assert there.failure.cause in NAMED, (fault, there.failure)
    return str(there.failure.cause)


@pytest.mark.parametrize("mesh", CHEAPER, indirect=True)
async def test_what_goes_wrong_in_the_middle_leaves_no_wrong_plan(
    mesh: Mesh, devnet: DevnetReady, tmp_path: Path
) -> None:
    """A bad way changes nothing; an agent that is killed may end the debate, by name."""
    way = ("all of it", "burst") if mesh.engine is Engine.AXL else ("burst", "restart")
    expected = Expected(tmp_path, devnet)
    for fault in way:
        assert await judged_through(mesh, devnet, expected, fault, 0) == "a plan", fault
    await judged_through(mesh, devnet, expected, "kill strategist at scout", 0)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
async def test_two_hundred_debates_end_in_the_right_plan_or_a_named_failure(
    mesh: Mesh,
    devnet: DevnetReady,
    tmp_path: Path,
    part: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ten of each engine's hundred, through every fault in turn, as patient as a person's desk."""
    monkeypatch.setattr("zuno_tui.app.debate_setup._QUIET_ELSEWHERE", 5.0)
    expected = Expected(tmp_path, devnet)
    faults = faults_of(mesh.engine)
    ended: Counter[str] = Counter()
    for number in range(10 * part, 10 * part + 10):
        fault = faults[number % len(faults)]
        ended[await judged_through(mesh, devnet, expected, fault, number)] += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{mesh.engine}, part {part}: {dict(ended)}\n")


def python_for_nobody() -> str | None:
    """An interpreter of this version that lies where everybody may go."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for place in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            subprocess.run([place, "-c", ""], user=NOBODY, cwd="/", check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return place
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_agent_runs_as_another_user_with_nothing_but_its_folder(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    mesh = Mesh(tmp_path, Engine.AXL, devnet)
    mesh.lay_out()
    secret = mesh.home.keystore / "wallet.json"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("canary")
    folder = mesh.member_folder("critic")
    for path in (folder, *folder.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == "root" and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    script = textwrap.dedent(
        """
        import sys
        from zuno_tui.cli import main
        code = main(sys.argv[2:])
        loaded = [name for name in sys.modules if name.startswith(("chain.wallet.", "zuno_tui."))]
        try:
            open(sys.argv[1]).read()
            loaded.append("read the keystore")
        except PermissionError:
            pass
        print(" ".join(sorted(loaded)))
        sys.exit(code)
        """
    )
    python = python_for_nobody()
    if python is None:
        pytest.skip("no Python here can be run by another user")
    packages = os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))
    ran = subprocess.run(
        [python, "-c", script, str(secret), "agent", "critic", "--home", str(folder)],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": packages},
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Its node does not run, and that is all that stops it.
    assert ran.returncode == NETWORK, ran.stderr
    assert "AXL node" in ran.stderr
    loaded = set(ran.stdout.split())
    assert "read" not in loaded
    assert loaded.isdisjoint(WHAT_OPENS_KEYS)
    # What a feature adds to a desk is named there; the desk itself is not loaded.
    loaded -= {"zuno_tui.desk", "zuno_tui.desk.feature"}
    assert not {name for name in loaded if name.startswith(("zuno_tui.gate", "zuno_tui.desk"))}
