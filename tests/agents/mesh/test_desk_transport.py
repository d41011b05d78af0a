"""The desk's end of the mesh against frames written by hand: whom it hears, what it records."""

from __future__ import annotations

import asyncio
from typing import cast

import msgspec
import pytest

from agents.bus.envelope import (
    CLI,
    AgentWorking,
    Envelope,
    FlowFailed,
    FlowOver,
    Kind,
    Payload,
    Role,
    Thought,
)
from agents.bus.worker import TransportError
from agents.mesh.endpoint import STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS, MeshEndpoint
from agents.mesh.frame import LARGEST_PAYLOAD, DropCause, FlowStamp, Frame, FrameHeader, FrameKind
from agents.mesh.transport import DeskTransport, TakenMessage
from tests.agents.mesh.test_agent_transport import (
    DESK,
    MEMBERS,
    TERMS,
    TURN,
    Endpoint,
    cause_of,
    sealed,
)
from tests.fakes.small_debate import ARBITER, CRITIC, REGISTRY, SCOUT, STRATEGIST, SmallKind
from tests.virtual_time import pass_time, virtual_now

ELSEWHERE = (SCOUT, STRATEGIST, CRITIC)
THINKS = Thought(round=0, tag="", text="so")
PATIENCE = 0.1


class Desk:
    """The Arbiter is played here, the others elsewhere."""

    def __init__(self) -> None:
        self.endpoint = Endpoint(me=DESK.key)
        routes = {role: MEMBERS.peer(role) for role in ELSEWHERE}
        self.transport = DeskTransport(
            cast("MeshEndpoint", self.endpoint),
            REGISTRY,
            routes,
            clock=lambda: 12.0,
            thought_patience=PATIENCE,
        )

    async def begin(self, request: str = "req_1") -> None:
        for role in ELSEWHERE:
            terms = sealed(CLI, role, Kind.FLOW_TERMS, TERMS, request)
            assert await self.transport.send(terms, droppable=False)
        self.endpoint.sent.clear()

    def take(
        self,
        sender: Role,
        kind: str,
        payload: Payload,
        stamp: FlowStamp | None,
        to: Role = CLI,
        *,
        said_by: Role | None = None,
        request: str = "req_1",
    ) -> None:
        envelope = sealed(said_by or sender, to, kind, payload, request)
        header = FrameHeader(FrameKind.DATA, DESK.key, "1", 0, request=request, stamp=stamp)
        self.transport._take(Frame(MEMBERS.peer(sender), header, envelope.wire))

    def took(self, role: Role, place: int, sender: Role, number: int) -> None:
        header = FrameHeader(FrameKind.TOOK, DESK.key, "1", 0, request="req_1")
        told = msgspec.json.encode(TakenMessage(place, sender, number))
        self.transport._take(Frame(MEMBERS.peer(role), header, told))

    async def heard(self) -> Envelope:
        async with asyncio.timeout(60):
            return await self.transport.receive(CLI)

    def nothing_more(self) -> bool:
        return self.transport._heard.empty()


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_the_terms_tell_everybody_whom_to_send_to(desk: Desk) -> None:
    terms = sealed(CLI, CRITIC, Kind.FLOW_TERMS, TERMS)
    assert await desk.transport.send(terms, droppable=True)
    [sent] = desk.endpoint.sent
    assert (sent.peer.name, sent.attempts, sent.droppable) == (CRITIC, STRUCTURAL_ATTEMPTS, False)
    assert sent.header.routes == {
        **{str(role): MEMBERS.peer(role).key for role in ELSEWHERE},
        "arbiter": DESK.key,
    }


async def test_a_thought_said_here_that_finds_no_room_is_left_and_told_so(desk: Desk) -> None:
    desk.transport._heard = asyncio.Queue(1)
    aloud = sealed(ARBITER, CLI, Kind.AGENT_THOUGHT, THINKS)
    assert await desk.transport.send(aloud, droppable=True)
    assert not await desk.transport.send(aloud, droppable=True)
    # What may not be lost waits for room.
    waiting = asyncio.create_task(desk.transport.send(aloud, droppable=False))
    await asyncio.sleep(0)
    assert not waiting.done()
    await desk.heard()
    assert await waiting


async def test_what_is_said_here_goes_where_its_role_is_played(desk: Desk) -> None:
    await desk.begin()
    away = sealed(ARBITER, SCOUT, SmallKind.PROPOSAL, TURN)
    assert await desk.transport.send(away, droppable=False)
    assert await desk.transport.send(away, droppable=True)
    assert [one.attempts for one in desk.endpoint.sent] == [STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS]
    assert {one.header.routes for one in desk.endpoint.sent} == {None}
    # A copy of what agents elsewhere sent to each other goes nowhere again.
    copied = sealed(SCOUT, CRITIC, SmallKind.PROPOSAL, TURN)
    assert await desk.transport.send(copied, droppable=False)
    assert len(desk.endpoint.sent) == 2
    here = sealed(SCOUT, ARBITER, SmallKind.DEADLOCK, TURN)
    assert await desk.transport.send(here, droppable=False)
    async with asyncio.timeout(60):
        assert await desk.transport.receive(ARBITER) == here
    longest = msgspec.structs.replace(away, wire=b"x" * LARGEST_PAYLOAD)
    assert await desk.transport.send(longest, droppable=False)
    long = msgspec.structs.replace(away, wire=b"x" * (LARGEST_PAYLOAD + 1))
    with pytest.raises(TransportError, match="too long"):
        await desk.transport.send(long, droppable=False)


async def test_it_hears_those_alone_who_play_elsewhere_and_in_a_request_that_runs(
    desk: Desk,
) -> None:
    first = FlowStamp(0, 0)

    def thinks(sender: Role, **others: object) -> None:
        desk.take(sender, Kind.AGENT_THOUGHT, THINKS, first, **others)  # type: ignore[arg-type]

    assert cause_of(lambda: thinks(SCOUT)) is DropCause.LATE
    await desk.begin()
    assert cause_of(lambda: thinks(ARBITER)) is DropCause.WRONG_ROLE
    assert cause_of(lambda: thinks(SCOUT, said_by=CRITIC)) is DropCause.WRONG_ROLE
    for stamp in (None, FlowStamp(-1, 0), FlowStamp(0, -1)):

        def misplaced(stamp: FlowStamp | None = stamp) -> None:
            desk.take(SCOUT, Kind.AGENT_THOUGHT, THINKS, stamp)

        assert cause_of(misplaced) is DropCause.MALFORMED
    assert desk.nothing_more()
    thinks(SCOUT)
    assert (await desk.heard()).sender == SCOUT
    assert cause_of(lambda: thinks(SCOUT)) is DropCause.REPLAYED


async def test_signs_of_life_are_for_the_desk_and_wait_for_nothing(desk: Desk) -> None:
    await desk.begin()
    desk.take(CRITIC, Kind.AGENT_WORKING, AgentWorking(), None)
    assert (await desk.heard()).kind == Kind.AGENT_WORKING

    def to_another() -> None:
        desk.take(CRITIC, Kind.AGENT_WORKING, AgentWorking(), None, SCOUT)

    assert cause_of(to_another) is DropCause.WRONG_ROLE


async def test_a_message_is_recorded_once_its_recipient_took_it(desk: Desk) -> None:
    await desk.begin()
    desk.take(SCOUT, SmallKind.CONTEXT_OBSERVED, TURN, FlowStamp(0, 1), STRATEGIST)
    assert desk.nothing_more()
    desk.took(STRATEGIST, 0, SCOUT, 0)
    assert (await desk.heard()).kind == SmallKind.CONTEXT_OBSERVED


async def test_a_thought_that_never_comes_is_waited_for_so_long_and_no_longer(desk: Desk) -> None:
    await desk.begin()
    desk.take(SCOUT, Kind.AGENT_THOUGHT, THINKS, FlowStamp(1, 0))
    began = virtual_now()
    assert desk.nothing_more()
    assert (await desk.heard()).kind == Kind.AGENT_THOUGHT
    assert virtual_now() - began >= PATIENCE * 0.9


async def test_nothing_of_a_request_that_is_over_is_heard_or_sent_again(desk: Desk) -> None:
    await desk.begin()
    desk.take(SCOUT, Kind.AGENT_THOUGHT, THINKS, FlowStamp(1, 0))
    over = sealed(CLI, CRITIC, Kind.FLOW_OVER, FlowOver())
    assert await desk.transport.send(over, droppable=True)
    assert desk.endpoint.forgotten == ["req_1"]
    assert await desk.transport.send(sealed(CLI, SCOUT, Kind.FLOW_OVER, FlowOver()), droppable=True)
    assert desk.endpoint.forgotten == ["req_1"]
    await pass_time(2 * PATIENCE)
    assert desk.nothing_more()


async def test_an_agent_that_is_started_anew_is_told_again_unless_it_has_spoken(
    desk: Desk,
) -> None:
    await desk.begin()
    scout, critic = MEMBERS.peer(SCOUT), MEMBERS.peer(CRITIC)
    desk.endpoint.on_boot(scout, True)  # the first process of it that was met
    desk.endpoint.on_boot(MEMBERS.peer(ARBITER), False)  # it is played here
    await asyncio.sleep(0)
    assert (desk.endpoint.sent, desk.nothing_more()) == ([], True)

    desk.endpoint.on_boot(scout, False)
    await asyncio.sleep(0)
    [again] = desk.endpoint.sent
    said = REGISTRY.open(again.payload)
    assert (again.peer, said.kind, said.recipient) == (scout, Kind.FLOW_TERMS, SCOUT)

    desk.take(CRITIC, Kind.AGENT_THOUGHT, THINKS, FlowStamp(0, 0))
    await desk.heard()
    desk.endpoint.on_boot(critic, False)
    failed = await desk.heard()
    assert isinstance(failed.payload, FlowFailed)
    assert (failed.payload.stage, failed.payload.cause.value) == (CRITIC, "crashed")
    assert (failed.sender, failed.ts) == (CRITIC, 12_000)
