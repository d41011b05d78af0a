"""Flows over a mesh that loses, repeats, forges or is not there: the right verdict or a name."""

import asyncio
import itertools
import random
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agents.bus.envelope import CLI, FailureCause, FlowTerms, Role
from agents.bus.worker import BusLimits
from agents.mesh.frame import DropCause, FrameHeader, FrameKind, open_frame
from agents.mesh.peers import Engine
from chain.devnet.launch import DevnetReady
from tests.agents.bus.running import REQUEST, assert_replays, run_jury
from tests.agents.conftest import positions_by_state
from tests.agents.mesh.hostile_frames import LIE, hostile_frames, lie_of
from tests.agents.mesh.processes import Held, Mesh, hold, nats_program, running_mesh, session_on
from tests.fakes.jury import CLERK, EXPERTS, JUDGE, JURY, JuryServices, Parrot, Verdict
from tests.fakes.mesh_wire import Wire, agent_on, desk_on, mesh_of, new_members
from zuno_tui.app.agent_places import AgentPlaces


@pytest.mark.parametrize(
    "count", [500, pytest.param(10_000, marks=pytest.mark.soak)], ids=["some", "many"]
)
async def test_no_hostile_message_is_taken_in_the_middle_of_a_flow(
    tmp_path: Path, count: int
) -> None:
    members, wire = new_members(ALL), Wire()
    thinking, go_on = asyncio.Event(), asyncio.Event()

    def waiting(request_id: str, terms: FlowTerms) -> JuryServices:
        async def think(_: object) -> None:
            thinking.set()
            await go_on.wait()

        return JuryServices(Parrot(), lambda role: f"{role} looked", think)

    async with AsyncExitStack() as stack:
        for role in ALL:
            service = waiting if role == EXPERTS[0] else looking
            await stack.enter_async_context(agent_on(wire, members, JURY, role, service))
        remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
        limits = BusLimits(quiet_seconds=60)
        running = asyncio.create_task(
            run_jury(tmp_path / "record.jsonl", remote=remote, limits=limits)
        )
        await asyncio.wait_for(thinking.wait(), 60)
        desk = members.keys["desk"].name
        overheard = [data for to, data in wire.carried if to == desk]
        headers = [
            (frame.sender.name, frame.header)
            for data in overheard
            for frame in [open_frame(data, members.book, desk)]
        ]
        boots = {name: header.boot for name, header in headers}
        endpoint = remote.transport._endpoint  # type: ignore[attr-defined]
        before = endpoint.dropped.total()
        dull = sum(header.kind is FrameKind.HELLO for _, header in headers)
        assert dull < len(overheard)
        sent = [data for data in overheard if not _is_hello(headers, overheard, data)]
        hostile = hostile_frames(sent, members, boots, _to_boot(headers), REQUEST)
        for data in itertools.islice(hostile, count):
            wire.inject(desk, data)
        go_on.set()
        ran = await asyncio.wait_for(running, 60)
        dropped = endpoint.dropped.total() - before
    assert dropped >= count
    assert {
        *(DropCause.REPLAYED, DropCause.FORGED, DropCause.STRANGER, DropCause.MALFORMED),
        *(DropCause.WRONG_ROLE, DropCause.WRONG_REQUEST, DropCause.WRONG_RECIPIENT),
        *(DropCause.STALE, DropCause.OVERSIZE, DropCause.LATE),
    } <= set(endpoint.dropped)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    assert ran.outcome.result != LIE
    await assert_replays(ran)


def _to_boot(headers: list[tuple[str, FrameHeader]]) -> str:
    return next(header.to_boot for _, header in headers if header.to_boot)


async def test_a_peer_is_not_heard_in_a_role_that_is_played_here(tmp_path: Path) -> None:
    """Its key is good and its role is its own: but this desk has chosen somebody else for it."""
    members, wire = new_members(ALL), Wire()
    here, *elsewhere = ALL
    thinking, go_on = asyncio.Event(), asyncio.Event()

    def waiting(request_id: str, terms: FlowTerms) -> JuryServices:
        async def think(_: object) -> None:
            thinking.set()
            await go_on.wait()

        return JuryServices(Parrot(), lambda role: f"{role} looked", think)

    async with AsyncExitStack() as stack:
        for role in ALL:
            service = waiting if role == elsewhere[0] else looking
            await stack.enter_async_context(agent_on(wire, members, JURY, role, service))
        remote = await stack.enter_async_context(desk_on(wire, members, JURY, *elsewhere))
        endpoint = remote.transport._endpoint  # type: ignore[attr-defined]
        await endpoint.meet((members.peer(here),), 10)
        running = asyncio.create_task(
            run_jury(tmp_path / "record.jsonl", remote=remote, limits=BusLimits(quiet_seconds=60))
        )
        await asyncio.wait_for(thinking.wait(), 60)
        desk = members.keys["desk"].name
        headers = [
            (frame.sender.name, frame.header)
            for to, data in wire.carried
            if to == desk
            for frame in [open_frame(data, members.book, desk)]
        ]
        boots = {name: header.boot for name, header in headers}
        before = endpoint.dropped[DropCause.WRONG_ROLE]
        said = lie_of(here, members, boots[str(here)], _to_boot(headers), REQUEST)
        for data in said:
            wire.inject(desk, data)
        go_on.set()
        ran = await asyncio.wait_for(running, 60)
        dropped = endpoint.dropped[DropCause.WRONG_ROLE] - before
    assert dropped == len(said)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    await assert_replays(ran)


def _is_hello(headers: list[tuple[str, FrameHeader]], overheard: list[bytes], data: bytes) -> bool:
    return headers[overheard.index(data)][1].kind is FrameKind.HELLO


LIMITS = BusLimits(quiet_seconds=5, deadline_seconds=40)
NAMED = {
    *(FailureCause.LOST, FailureCause.CRASHED),
    *(FailureCause.DEADLINE, FailureCause.REFUSED),
}
RIGHT = Verdict(total=sum(map(len, EXPERTS)), heard=EXPERTS)
AT_ONCE = 10


async def one_flow(path: Path, number: int) -> str:
    """One request over a way that loses a third, in which one agent is killed at some moment."""
    chance = random.Random(number)
    wire = Wire(number, drop=0.3, duplicate=0.2, reorder=0.4, queue=100)
    members = new_members(ALL)
    killed = chance.choice(ALL)
    async with AsyncExitStack() as stack, AsyncExitStack() as mortal:
        for role in ALL:
            place = mortal if role == killed else stack
            await place.enter_async_context(agent_on(wire, members, JURY, role, looking))
        remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
        running = asyncio.create_task(run_jury(path, remote=remote, limits=LIMITS))
        # From before the start was heard to after the end.
        await asyncio.sleep(chance.uniform(0, 2.5))
        await mortal.aclose()
        await stack.enter_async_context(agent_on(wire, members, JURY, killed, looking))
        ran = await asyncio.wait_for(running, 90)
    return judged(ran.outcome.result, ran.outcome.failure, killed)


def judged(result: object, failure: object, killed: Role) -> str:
    if result is not None:
        assert result == RIGHT
        return "a verdict"
    cause = getattr(failure, "cause", None)
    assert cause in NAMED, failure
    return f"{cause}"


@pytest.mark.parametrize(
    "count", [4, pytest.param(200, marks=pytest.mark.soak)], ids=["some", "many"]
)
async def test_every_flow_ends_in_the_right_verdict_or_a_named_failure(
    tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: Counter[str] = Counter()
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(count, first + AT_ONCE))
        flows = (one_flow(tmp_path / f"{number}.jsonl", number) for number in numbers)
        ended.update(await asyncio.gather(*flows))
    assert ended.total() == count
    if count > AT_ONCE:
        with capsys.disabled():
            sys.stdout.write(f"\n{count} flows: {dict(ended)}\n")


ALL = (CLERK, *EXPERTS, JUDGE)


def looking(request_id: str, terms: FlowTerms) -> JuryServices:
    return JuryServices(Parrot(), lambda role: f"{role} may use {terms.tokens}")


async def test_agents_send_to_each_other_and_the_desk_has_it_on_record(tmp_path: Path) -> None:
    wire = Wire()
    async with mesh_of(JURY, *ALL, services=looking, wire=wire) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    assert ran.outcome.result.heard == EXPERTS
    senders = {body["from"] for body in ran.record.messages()}
    assert senders == {CLI, *ALL}
    await assert_replays(ran)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
async def test_a_way_that_loses_repeats_and_reorders_changes_nothing(
    tmp_path: Path, seed: int
) -> None:
    wire = Wire(seed, drop=0.3, duplicate=0.3, reorder=0.5)
    limits = BusLimits(quiet_seconds=30)
    async with mesh_of(JURY, *ALL, services=looking, wire=wire) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote, limits=limits)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    await assert_replays(ran)


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
