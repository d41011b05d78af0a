"""Forged, replayed, altered, cross-request and cross-role messages: none is taken."""

import asyncio
import itertools
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agents.bus.envelope import FlowTerms
from agents.bus.worker import BusLimits
from agents.mesh.frame import DropCause, FrameHeader, FrameKind, open_frame
from tests.agents.bus.running import REQUEST, assert_replays, run_jury
from tests.agents.mesh.hostile_frames import LIE, hostile_frames, lie_of
from tests.agents.mesh.test_mesh_flows import ALL, looking
from tests.fakes.jury import EXPERTS, JURY, JuryServices, Parrot, Verdict
from tests.fakes.mesh_wire import Wire, agent_on, desk_on, new_members


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
