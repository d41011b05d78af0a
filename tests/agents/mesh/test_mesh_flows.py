"""Flows over the mesh: on a bad way, and with agents that die, come back, are missing or old."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agents.bus.envelope import CLI, FailureCause, FlowTerms, Role
from agents.bus.run import replay_flow
from agents.bus.worker import BusLimits
from agents.mesh.frame import DropCause, Frame, FrameHeader, FrameKind
from agents.mesh.gathering import gather_roles
from tests.agents.bus.running import assert_replays, run_jury
from tests.fakes.jury import CLERK, EXPERTS, JUDGE, JURY, JuryServices, Parrot, Verdict
from tests.fakes.mesh_wire import Wire, agent_on, desk_on, endpoint, mesh_of, new_members

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


QUICK = BusLimits(quiet_seconds=1.0, deadline_seconds=20)
NAMED = {FailureCause.CRASHED, FailureCause.LOST, FailureCause.REFUSED}


class Stage:
    """Lets an agent be stopped when it has begun to think."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    def services(self, request_id: str, terms: FlowTerms) -> JuryServices:
        async def think(_: Role) -> None:
            self.reached.set()
            await self.released.wait()

        return JuryServices(Parrot(), lambda role: f"{role} looked", think)


async def test_an_agent_that_is_started_anew_in_the_middle_ends_the_flow_at_once(
    tmp_path: Path,
) -> None:
    members, wire, stage = new_members(ALL), Wire(), Stage()
    news = EXPERTS[0]
    async with AsyncExitStack() as stack:
        for role in ALL:
            if role != news:
                await stack.enter_async_context(agent_on(wire, members, JURY, role, looking))
        async with agent_on(wire, members, JURY, news, stage.services):
            remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
            running = asyncio.create_task(
                run_jury(tmp_path / "r.jsonl", remote=remote, limits=BusLimits(quiet_seconds=60))
            )
            await asyncio.wait_for(stage.reached.wait(), 60)
        async with agent_on(wire, members, JURY, news, looking):
            ran = await asyncio.wait_for(running, 60)
    assert ran.outcome.failure is not None
    assert (ran.outcome.failure.stage, ran.outcome.failure.cause) == (news, FailureCause.CRASHED)


async def test_an_agent_that_was_not_asked_yet_may_be_started_anew(tmp_path: Path) -> None:
    members, wire, stage = new_members(ALL), Wire(), Stage()
    async with AsyncExitStack() as stack:
        for role in (CLERK, *EXPERTS):
            await stack.enter_async_context(agent_on(wire, members, JURY, role, stage.services))
        async with agent_on(wire, members, JURY, JUDGE, looking):
            remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
            limits = BusLimits(quiet_seconds=60, deadline_seconds=20)
            running = asyncio.create_task(
                run_jury(tmp_path / "r.jsonl", remote=remote, limits=limits)
            )
            await asyncio.wait_for(stage.reached.wait(), 60)
        await stack.enter_async_context(agent_on(wire, members, JURY, JUDGE, looking))
        stage.released.set()
        ran = await asyncio.wait_for(running, 60)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    await assert_replays(ran)


@pytest.mark.parametrize("missing", [CLERK, JUDGE])
async def test_an_agent_that_dies_for_good_is_noticed(tmp_path: Path, missing: Role) -> None:
    members, wire = new_members(ALL), Wire()
    async with AsyncExitStack() as stack:
        for role in ALL:
            if role != missing:
                await stack.enter_async_context(agent_on(wire, members, JURY, role, looking))
        async with agent_on(wire, members, JURY, missing, looking):
            remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote, limits=QUICK)
    assert ran.outcome.failure is not None
    assert ran.outcome.failure.cause in NAMED
    report, _ = await replay_flow(JURY, ran.record)
    assert report.matches, report.difference


async def test_who_is_missing_or_of_another_version_is_named() -> None:
    members, wire = new_members(ALL), Wire()
    news, charts, flows = EXPERTS
    async with AsyncExitStack() as stack:
        for role in (CLERK, news, JUDGE):
            await stack.enter_async_context(agent_on(wire, members, JURY, role, looking))
        old = {"zuno": "0.0.1", "rules": "old"}
        await stack.enter_async_context(endpoint(members, charts, wire, versions=old))
        desk = await stack.enter_async_context(endpoint(members, "desk", wire))
        gathered = await gather_roles(desk, JURY.handlers, seconds=1.0)
    assert set(gathered.routes) == {CLERK, news, JUDGE}
    assert len(gathered.missing) == 2
    by_version, by_silence = gathered.missing
    assert "0.0.1" in by_version
    assert flows in by_silence


async def test_a_burst_over_a_small_queue_arrives_once_each() -> None:
    members, wire = new_members((CLERK, JUDGE)), Wire(drop=0.1, reorder=0.3, queue=100)
    taken: list[bytes] = []
    async with endpoint(members, CLERK, wire) as clerk, endpoint(members, JUDGE, wire) as judge:
        judge.on_frame = lambda frame: taken.append(frame.payload)
        peer = members.peer(JUDGE)
        assert await clerk.meet((peer,), 10) == (peer,)
        header = FrameHeader(FrameKind.DATA, peer.key, "", 0, request="req_1")
        for number in range(250):
            await clerk.send(peer, header, b"%d" % number, attempts=60, droppable=False)
        assert await clerk.wait_drained(30)
    assert sorted(taken, key=int) == [b"%d" % number for number in range(250)]


async def test_a_message_that_breaks_its_reader_is_counted_and_the_next_is_taken() -> None:
    members, wire = new_members((CLERK, JUDGE)), Wire()
    taken: list[bytes] = []

    def take(frame: Frame) -> None:
        if frame.payload == b"bad":
            raise RuntimeError("nobody foresaw this")
        taken.append(frame.payload)

    async with endpoint(members, CLERK, wire) as clerk, endpoint(members, JUDGE, wire) as judge:
        judge.on_frame = take
        peer = members.peer(JUDGE)
        assert await clerk.meet((peer,), 10) == (peer,)
        header = FrameHeader(FrameKind.DATA, peer.key, "", 0, request="req_1")
        await clerk.send(peer, header, b"bad", attempts=1, droppable=False)
        await clerk.send(peer, header, b"good", attempts=60, droppable=False)
        assert await clerk.wait_drained(30)
        assert judge.dropped[DropCause.MALFORMED] >= 1
    assert taken == [b"good"]
