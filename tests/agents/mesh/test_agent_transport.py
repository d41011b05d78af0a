"""One role's transport against frames written by hand: whom it hears, and how it counts."""

import asyncio
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import msgspec
import pytest

from agents.bus.envelope import (
    CLI,
    AgentWorking,
    Envelope,
    FlowFailed,
    FlowOver,
    FlowTerms,
    Kind,
    Payload,
    Role,
    Thought,
)
from agents.bus.worker import TransportError
from agents.mesh.endpoint import STRUCTURAL_ATTEMPTS, THOUGHT_ATTEMPTS, MeshEndpoint
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    DropCause,
    DroppedError,
    FlowStamp,
    Frame,
    FrameHeader,
    FrameKind,
)
from agents.mesh.peers import Peer, PeerBook
from agents.mesh.transport import (
    AgentTransport,
    Copy,
    DeskTransport,
    RequestOrder,
    TakenMessage,
    _OpenRequest,
    _read_taken,
)
from tests.fakes.mesh_wire import VERSIONS, new_members
from tests.fakes.small_debate import ARBITER, CRITIC, REGISTRY, SCOUT, STRATEGIST, SmallKind, Turn

ROLES = (SCOUT, STRATEGIST, CRITIC, ARBITER)
MEMBERS = new_members(ROLES)
DESK = MEMBERS.peer("desk")
TURN = Turn(position=7, rounds=1, round=0)
TERMS = FlowTerms(flow="small", seconds=60, quiet_seconds=5, tokens=None)
ROUTES = {str(role): MEMBERS.peer(role).key for role in ROLES}


@dataclass
class Sent:
    peer: Peer
    header: FrameHeader
    payload: bytes
    attempts: int
    droppable: bool


@dataclass
class Endpoint:
    """What an `AgentTransport` needs of one: it writes down what is sent."""

    me: str = MEMBERS.keys[CRITIC].name
    book: PeerBook = MEMBERS.book
    versions: dict[str, str] = field(default_factory=lambda: dict(VERSIONS))
    theirs: dict[str, str] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    once: list[tuple[Peer, FrameHeader]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    has_room: bool = True
    on_boot: Callable[[Peer, bool], None] = lambda *_: None

    async def send(
        self, peer: Peer, header: FrameHeader, payload: bytes, *, attempts: int, droppable: bool
    ) -> bool:
        self.sent.append(Sent(peer, header, payload, attempts, droppable))
        return self.has_room

    def send_once(self, peer: Peer, header: FrameHeader, payload: bytes) -> bool:
        self.once.append((peer, header))
        return True

    def versions_of(self, _: Peer) -> dict[str, str]:
        return self.theirs

    def forget(self, request_id: str) -> None:
        self.forgotten.append(request_id)


@dataclass
class Agent:
    endpoint: Endpoint
    transport: AgentTransport
    heard: list[tuple[str, str]]

    def take(
        self,
        sender: str,
        kind: str,
        payload: Payload,
        *,
        said_by: Role | None = None,
        to: Role = CRITIC,
        frame: FrameKind = FrameKind.DATA,
        request: str = "req_1",
        header_request: str | None = None,
        **header: object,
    ) -> None:
        peer = MEMBERS.peer(sender)
        envelope = sealed(said_by or peer.as_role, to, kind, payload, request)
        given = FrameHeader(frame, self.endpoint.me, "1", 0, **header)  # type: ignore[arg-type]
        given = msgspec.structs.replace(given, request=header_request or request)
        self.transport._take(Frame(peer, given, envelope.wire))

    def begin(self, request: str = "req_1", **header: object) -> None:
        self.take("desk", Kind.FLOW_TERMS, TERMS, request=request, **{"routes": ROUTES, **header})  # type: ignore[arg-type]

    def propose(self, sender: str = STRATEGIST, **header: object) -> None:
        given = {"stamp": FlowStamp(0, 1), **header}
        self.take(sender, SmallKind.PROPOSAL, TURN, **given)  # type: ignore[arg-type]

    def garble(self, payload: bytes) -> None:
        header = FrameHeader(FrameKind.DATA, self.endpoint.me, "1", 0, request="req_1")
        stamped = msgspec.structs.replace(header, stamp=FlowStamp(0, 1))
        self.transport._take(Frame(MEMBERS.peer(STRATEGIST), stamped, payload))

    async def next(self) -> Envelope:
        async with asyncio.timeout(60):
            return await self.transport.receive(CRITIC)


def sealed(sender: Role, to: Role, kind: str, payload: Payload, request: str = "req_1") -> Envelope:
    return REGISTRY.seal(request, sender=sender, recipient=to, kind=kind, payload=payload, ts=1)


def thought(words: str = "so") -> Envelope:
    return sealed(CRITIC, CLI, Kind.AGENT_THOUGHT, Thought(round=0, tag="", text=words))


@pytest.fixture
def agent() -> Agent:
    endpoint = Endpoint()
    heard: list[tuple[str, str]] = []
    transport = AgentTransport(
        cast("MeshEndpoint", endpoint),
        REGISTRY,
        CRITIC,
        clock=lambda: 12.0,
        log=lambda way, envelope, peer: heard.append((way, f"{envelope.kind} {peer.name}")),
    )
    return Agent(endpoint, transport, heard)


def cause_of(taking: object) -> DropCause:
    assert callable(taking)
    with pytest.raises(DroppedError) as refused:
        taking()
    return refused.value.cause


async def test_what_it_says_is_numbered_and_goes_to_whom_it_is_for_and_to_the_desk(
    agent: Agent,
) -> None:
    agent.begin()
    assert (await agent.next()).kind == Kind.FLOW_TERMS
    assert await agent.transport.send(thought(), droppable=True)
    critique = sealed(CRITIC, STRATEGIST, SmallKind.CRITIQUE, TURN)
    assert await agent.transport.send(critique, droppable=False)
    assert await agent.transport.send(thought(), droppable=True)

    stamps = [(one.peer.name, one.header.stamp, one.attempts) for one in agent.endpoint.sent]
    assert stamps == [
        ("desk", FlowStamp(0, 0), THOUGHT_ATTEMPTS),
        ("strategist", FlowStamp(1, 1), STRUCTURAL_ATTEMPTS),
        ("desk", FlowStamp(1, 1), STRUCTURAL_ATTEMPTS),
        ("desk", FlowStamp(2, 1), THOUGHT_ATTEMPTS),
    ]
    assert [one.droppable for one in agent.endpoint.sent] == [True, False, False, True]
    assert all(one.header.to == one.peer.key for one in agent.endpoint.sent)
    assert {one.header.request for one in agent.endpoint.sent} == {"req_1"}
    assert agent.heard[0] == ("heard", "flow_terms desk")
    assert agent.heard[2] == ("sent", "critique strategist")


async def test_what_it_took_is_told_the_desk_and_built_on(agent: Agent) -> None:
    agent.begin()
    await agent.next()
    agent.propose(stamp=FlowStamp(2, 1, {"scout": 3}))
    await agent.next()
    [took] = agent.endpoint.sent
    assert (took.peer, took.header.kind) == (DESK, FrameKind.TOOK)
    assert _read_taken(took.payload) == TakenMessage(0, "strategist", 2)
    agent.propose(SCOUT, said_by=SCOUT, stamp=FlowStamp(0, 1))
    await agent.next()
    assert _read_taken(agent.endpoint.sent[-1].payload) == TakenMessage(1, "scout", 0)

    await agent.transport.send(thought(), droppable=True)
    # The scout's three are built on through the strategist; its own first is fewer.
    assert agent.endpoint.sent[-1].header.stamp == FlowStamp(0, 0, {"scout": 3, "strategist": 3})


async def test_nothing_is_said_in_a_request_that_nobody_began_or_that_is_over(
    agent: Agent,
) -> None:
    assert not await agent.transport.send(thought(), droppable=False)
    agent.begin()
    await agent.next()
    agent.take("desk", Kind.FLOW_OVER, FlowOver(), said_by=CLI)
    assert (await agent.next()).kind == Kind.FLOW_OVER
    assert agent.endpoint.forgotten == ["req_1"]
    assert not await agent.transport.send(thought(), droppable=False)
    assert agent.endpoint.sent == []
    agent.propose()  # what comes after it is taken without effect
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await agent.transport.receive(CRITIC)


async def test_signs_of_life_go_to_the_desk_once(agent: Agent) -> None:
    agent.begin()
    await agent.next()
    working = sealed(CRITIC, CLI, Kind.AGENT_WORKING, AgentWorking())
    assert await agent.transport.send(working, droppable=True)
    assert agent.endpoint.sent == []
    [(peer, header)] = agent.endpoint.once
    assert (peer, header.stamp, header.request) == (DESK, None, "req_1")


async def test_what_is_too_long_is_refused_and_what_finds_no_room_is_told(agent: Agent) -> None:
    agent.begin()
    await agent.next()
    agent.endpoint.has_room = False
    assert not await agent.transport.send(thought(), droppable=True)
    agent.endpoint.has_room = True
    longest = msgspec.structs.replace(thought(), wire=b"x" * LARGEST_PAYLOAD)
    assert await agent.transport.send(longest, droppable=False)
    long = msgspec.structs.replace(thought(), wire=b"x" * (LARGEST_PAYLOAD + 1))
    with pytest.raises(TransportError, match="too long"):
        await agent.transport.send(long, droppable=False)


def test_only_a_desk_begins_a_request_and_for_this_role_alone(agent: Agent) -> None:
    def begun_by(sender: str) -> None:
        agent.take(sender, Kind.FLOW_TERMS, TERMS, routes=ROUTES)

    def as_the_desk() -> None:
        agent.take(SCOUT, Kind.FLOW_TERMS, TERMS, said_by=CLI, routes=ROUTES)

    assert cause_of(lambda: begun_by(SCOUT)) is DropCause.WRONG_ROLE

    def no_terms() -> None:
        agent.take("desk", Kind.FLOW_OVER, FlowOver(), said_by=CLI, routes=ROUTES)

    assert cause_of(as_the_desk) is DropCause.WRONG_ROLE
    assert cause_of(no_terms) is DropCause.WRONG_RECIPIENT
    terms = (Kind.FLOW_TERMS, TERMS)
    wrong = {
        DropCause.WRONG_REQUEST: lambda: agent.begin(header_request="req_2"),
        DropCause.WRONG_RECIPIENT: lambda: agent.take("desk", *terms, to=SCOUT, routes=ROUTES),
    }
    for cause, taking in wrong.items():
        assert cause_of(taking) is cause
    another = {**ROUTES, "critic": DESK.key}
    assert cause_of(lambda: agent.begin(routes=another)) is DropCause.WRONG_RECIPIENT
    stranger = {**ROUTES, "scout": "ab" * 32}
    assert cause_of(lambda: agent.begin(routes=stranger)) is DropCause.WRONG_ROLE
    swapped = {**ROUTES, "scout": MEMBERS.peer(ARBITER).key}
    assert cause_of(lambda: agent.begin(routes=swapped)) is DropCause.WRONG_ROLE
    lacking = {name: key for name, key in ROUTES.items() if name != "scout"}
    assert cause_of(lambda: agent.begin(routes=lacking)) is DropCause.WRONG_ROLE
    assert agent.heard == []


async def test_the_same_beginning_twice_is_one_request(agent: Agent) -> None:
    agent.begin()
    agent.begin()
    assert [way for way, _ in agent.heard] == ["heard"]


async def test_another_desk_begins_no_request_that_is_somebodys(agent: Agent) -> None:
    agent.begin()
    second = Peer("second", CLI, "cd" * 32)
    header = FrameHeader(FrameKind.DATA, agent.endpoint.me, "1", 0, request="req_1", routes=ROUTES)
    terms = sealed(CLI, CRITIC, Kind.FLOW_TERMS, TERMS)
    again = Frame(second, header, terms.wire)
    assert cause_of(lambda: agent.transport._take(again)) is DropCause.WRONG_REQUEST
    assert [way for way, _ in agent.heard] == ["heard"]


async def test_a_desk_of_another_version_is_told_so(agent: Agent) -> None:
    agent.endpoint.theirs = {**VERSIONS, "rules": "others"}
    agent.begin()
    await asyncio.sleep(0)
    [refusal] = agent.endpoint.sent
    said = REGISTRY.open(refusal.payload)
    assert isinstance(said.payload, FlowFailed)
    assert (said.payload.stage, said.payload.cause.value) == (CRITIC, "refused")
    assert said.ts == 12_000
    # Known and the same, or not known yet, it is begun.
    for theirs in (dict(VERSIONS), {}):
        agent.endpoint.theirs = theirs
        agent.begin(request=f"req_{len(theirs)}")
    assert len(agent.endpoint.sent) == 1


async def test_it_hears_those_alone_who_play_in_the_request(agent: Agent) -> None:
    assert cause_of(agent.propose) is DropCause.EARLY
    agent.begin(routes={**ROUTES, "arbiter": DESK.key})
    refused = {
        "no data": (DropCause.EARLY, lambda: agent.propose(frame=FrameKind.TOOK)),
        "not of this request": (DropCause.WRONG_REQUEST, lambda: agent.propose(ARBITER)),
        "in another's name": (DropCause.WRONG_ROLE, lambda: agent.propose(said_by=SCOUT)),
        "for another": (DropCause.WRONG_RECIPIENT, lambda: agent.propose(to=SCOUT)),
        "no envelope": (DropCause.MALFORMED, lambda: agent.garble(b"{}")),
        "without its place": (DropCause.MALFORMED, lambda: agent.propose(stamp=None)),
        "before the first": (DropCause.MALFORMED, lambda: agent.propose(stamp=FlowStamp(-1, 0))),
        "in no such request": (DropCause.EARLY, lambda: agent.propose(header_request="req_9")),
        "the desk as the scout": (
            DropCause.WRONG_ROLE,
            lambda: agent.propose("desk", said_by=SCOUT, stamp=None),
        ),
        "terms in the middle": (
            DropCause.WRONG_ROLE,
            lambda: agent.take("desk", Kind.FLOW_TERMS, TERMS),
        ),
    }
    for name, (cause, taking) in refused.items():
        assert cause_of(taking) is cause, name
    assert len(agent.heard) == 1
    agent.propose("desk", said_by=ARBITER, stamp=None)
    agent.propose(stamp=FlowStamp(0, 1))
    assert [await agent.next() for _ in range(3)][1].sender == ARBITER


async def test_who_builds_on_what_an_earlier_process_said_ends_the_request(agent: Agent) -> None:
    agent.begin()
    agent.propose(stamp=FlowStamp(1, 1, {"critic": 1}))
    await asyncio.sleep(0)
    [refusal] = agent.endpoint.sent
    said = REGISTRY.open(refusal.payload).payload
    assert isinstance(said, FlowFailed)
    assert "restarted" in said.reason
    # What it did say may be built on.
    agent.begin(request="req_2")
    second = sealed(CRITIC, CLI, Kind.AGENT_THOUGHT, Thought(round=0, tag="", text=""), "req_2")
    await agent.transport.send(second, droppable=True)
    agent.propose(request="req_2", stamp=FlowStamp(1, 1, {"critic": 1}))
    assert agent.heard[-1] == ("heard", "proposal strategist")


async def test_a_thousand_requests_are_remembered_and_the_oldest_goes(agent: Agent) -> None:
    for number in range(1_025):
        agent.begin(request=f"req_{number}")
    assert cause_of(lambda: agent.propose(request="req_0")) is DropCause.EARLY
    agent.propose(request="req_1")
    # What was left of the oldest is passed over.
    assert (await agent.next()).request_id == "req_1"


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b'{"place": "x"}', b'{"place": 1}'])
def test_a_word_of_what_was_taken_that_cannot_be_read_is_refused(payload: bytes) -> None:
    assert cause_of(lambda: _read_taken(payload)) is DropCause.MALFORMED


def copy(
    sender: Role,
    number: int,
    structural: int,
    to: Role = CLI,
    after: dict[str, int] | None = None,
) -> Copy:
    """A thought to the desk, or a structural message to another agent."""
    thinks = to == CLI
    envelope = REGISTRY.seal(
        "req_1",
        sender=sender,
        recipient=to,
        kind=Kind.AGENT_THOUGHT if thinks else SmallKind.PROPOSAL,
        payload=Thought(round=0, tag="", text=f"{sender} {number}") if thinks else TURN,
        ts=number,
    )
    return Copy(envelope, FlowStamp(number, structural, after or {}), not thinks)


# Scout thinks, sends on and thinks again; Strategist thinks, sends on; Critic thinks.
SAID = [
    copy(SCOUT, 0, 0),
    copy(SCOUT, 1, 1, to=STRATEGIST),
    copy(SCOUT, 2, 1),
    copy(STRATEGIST, 0, 0, after={SCOUT: 2}),
    copy(STRATEGIST, 1, 1, to=CRITIC, after={SCOUT: 2}),
    copy(CRITIC, 0, 0, after={SCOUT: 2, STRATEGIST: 2}),
]
TAKEN = [(STRATEGIST, TakenMessage(0, SCOUT, 1)), (CRITIC, TakenMessage(0, STRATEGIST, 1))]


def told(order: RequestOrder, event: object) -> None:
    if isinstance(event, Copy):
        order.add(event)
    else:
        order.record_taken(*event)  # type: ignore[misc]


def test_every_order_of_arrival_gives_one_in_which_causes_come_first() -> None:
    events = [*SAID, *TAKEN]
    orders = random.Random(7).sample(list(itertools.permutations(range(len(events)))), 500)
    for arrival in orders:
        order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
        out = []
        for index in arrival:
            told(order, events[index])
            out += order.ready()
        place = {envelope.content_id: number for number, envelope in enumerate(out)}
        at = [place[one.envelope.content_id] for one in SAID]
        assert len(out) == len(SAID)
        assert at[0] < at[1] < at[2]
        assert at[1] < at[3] < at[4] < at[5]


def test_what_an_agent_took_later_is_recorded_later() -> None:
    order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
    first, second = copy(SCOUT, 0, 1, to=CRITIC), copy(STRATEGIST, 0, 1, to=CRITIC)
    order.add(first)
    order.add(second)
    assert order.ready() == []
    order.record_taken(CRITIC, TakenMessage(1, SCOUT, 0))
    order.record_taken(CRITIC, TakenMessage(0, STRATEGIST, 0))
    assert order.ready() == [second.envelope, first.envelope]


def test_a_lost_thought_holds_nobody_up_for_ever_and_a_lost_message_does() -> None:
    order = RequestOrder((SCOUT, STRATEGIST))
    order.record_taken(STRATEGIST, TakenMessage(0, SCOUT, 1))
    order.add(SAID[1])  # the thought before it never comes
    assert order.ready() == []
    assert order.ready(without_lost_thoughts=True) == [SAID[1].envelope]
    order = RequestOrder((SCOUT, STRATEGIST))
    order.add(SAID[2])  # a structural message is missing before it
    assert order.ready(without_lost_thoughts=True) == []


def test_a_copy_that_came_before_is_told_apart() -> None:
    order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
    assert order.add(SAID[0])
    assert not order.add(SAID[0])
    order.ready()
    assert not order.add(SAID[0])


async def test_the_desk_waits_for_a_lost_thought_as_long_as_it_was_told() -> None:
    class Silent:
        on_frame = on_boot = None

    silent = cast("MeshEndpoint", Silent())
    desk = DeskTransport(silent, REGISTRY, {}, clock=lambda: 0.0, thought_patience=100)
    request = _OpenRequest(RequestOrder((SCOUT, STRATEGIST)), copy(SCOUT, 9, 9).envelope)
    for one in (SAID[1], SAID[2]):
        request.order.add(one)
    request.order.record_taken(STRATEGIST, TakenMessage(0, SCOUT, 1))
    desk._release("req_1", request)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await desk.receive(CLI)
    async with asyncio.timeout(600):
        assert await desk.receive(CLI) == SAID[1].envelope
