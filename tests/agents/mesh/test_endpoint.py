"""One endpoint against a peer played by hand: every frame it sends, every frame it is sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from agents.mesh import endpoint as mesh_endpoint
from agents.mesh.endpoint import (
    STRUCTURAL_ATTEMPTS,
    THOUGHT_ATTEMPTS,
    Introduction,
    MeshEndpoint,
    SeenNumbers,
    new_boot,
    read_introduction,
    retry_wait,
)
from agents.mesh.frame import (
    DropCause,
    DroppedError,
    Frame,
    FrameHeader,
    FrameKind,
    open_frame,
    seal_frame,
)
from agents.mesh.peers import EngineError, Peer
from tests.fakes.mesh_wire import VERSIONS, Members, Wire, endpoint, new_members
from tests.fakes.small_debate import CRITIC, SCOUT
from tests.virtual_time import pass_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EARLIER, OURS, LATER = "1", "2", "3"
WINDOW = 4_096


@dataclass
class Played:
    """A desk's endpoint, and its peers as the test plays them."""

    members: Members
    wire: Wire
    desk: MeshEndpoint
    taken: list[Frame] = field(default_factory=list)
    seqs: Counter[str] = field(default_factory=Counter)

    def peer(self, name: str = SCOUT) -> Peer:
        return self.members.peer(name)

    async def tell(
        self,
        kind: FrameKind,
        payload: bytes = b"",
        *,
        name: str = SCOUT,
        boot: str = OURS,
        **header: object,
    ) -> int:
        """Send the desk a frame of this peer; its number."""
        seq = header.pop("seq", self.seqs[name])
        assert isinstance(seq, int)
        self.seqs[name] = max(self.seqs[name], seq + 1)
        given = {"to_boot": self.boot_of_desk, **header}
        sealed = FrameHeader(kind, self.desk.me, boot, seq, **given)  # type: ignore[arg-type]
        self.wire.inject(self.desk.me, seal_frame(self.members.keys[name], sealed, payload))
        await settle()
        return seq

    async def meet(self, name: str = SCOUT, boot: str = OURS) -> int:
        told = msgspec.json.encode(Introduction())
        return await self.tell(FrameKind.READY, told, name=name, boot=boot)

    @property
    def boot_of_desk(self) -> str:
        return self.desk._boot

    def sent(self, kind: FrameKind, name: str = SCOUT) -> list[Frame]:
        """What the desk sent this peer, of this kind."""
        key = self.members.keys[name].name
        frames = [
            open_frame(data, self.members.book, key) for to, data in self.wire.carried if to == key
        ]
        return [frame for frame in frames if frame.header.kind is kind]

    async def send(
        self, payload: bytes, request: str = "req_1", name: str = SCOUT, attempts: int = 60
    ) -> bool:
        header = FrameHeader(FrameKind.DATA, self.peer(name).key, "", 0, request=request)
        sent = await self.desk.send(
            self.peer(name), header, payload, attempts=attempts, droppable=False
        )
        await settle()
        return sent

    def payloads(self, name: str = SCOUT) -> list[bytes]:
        return [frame.payload for frame in self.sent(FrameKind.DATA, name)]

    def first_tries(self) -> list[bytes]:
        """What was sent, without what a slow machine had repeated meanwhile."""
        return list(dict.fromkeys(self.payloads()))


async def settle() -> None:
    await pass_time(0.01)


@pytest.fixture
async def played() -> AsyncIterator[Played]:
    members, wire = new_members((SCOUT, CRITIC)), Wire()
    async with endpoint(members, "desk", wire) as desk:
        made = Played(members, wire, desk)
        desk.on_frame = made.taken.append
        yield made


def test_each_try_waits_longer_up_to_two_seconds() -> None:
    assert [round(retry_wait(tried), 3) for tried in range(8)] == [
        *(0.25, 0.25, 0.4, 0.64),
        *(1.024, 1.638, 2.0, 2.0),
    ]


def test_what_a_debate_needs_is_tried_for_two_minutes_and_a_thought_for_a_moment() -> None:
    def patience(attempts: int) -> float:
        return sum(retry_wait(tried) for tried in range(1, attempts + 1))

    assert patience(STRUCTURAL_ATTEMPTS) == pytest.approx(114, abs=0.5)
    assert patience(THOUGHT_ATTEMPTS) == pytest.approx(18, abs=0.5)


def test_a_later_process_has_a_greater_name() -> None:
    first, second = new_boot(), new_boot()
    assert first < second


def test_what_is_remembered_of_numbers_stays_small_and_forgets_the_oldest() -> None:
    seen = SeenNumbers()
    assert seen.missing == 0
    for number in range(0, 6 * WINDOW, 2):
        seen.add(number)
    assert len(seen._seen) <= 2 * WINDOW
    # Every other number of those remembered never came.
    assert seen.missing == WINDOW // 2
    highest = 6 * WINDOW - 2
    assert seen.is_new(highest - WINDOW + 1)
    assert not seen.is_new(highest)
    seen.add(highest + 1)
    # Of those that never came, the first that is no longer taken.
    assert seen.is_new(highest - WINDOW + 3)
    assert not seen.is_new(highest - WINDOW + 1)


def test_an_introduction_is_bounded_and_cleaned() -> None:
    told = Introduction({"zuno\x1b": "9" * 50}, "m\n" + "x" * 90)
    read = read_introduction(msgspec.json.encode(told))
    [(name, version)] = read.versions.items()
    assert "\x1b" not in name
    assert len(version) <= 40
    long = read_introduction(msgspec.json.encode(Introduction({"n" * 60: "9" * 60}, "m" * 90)))
    [(name, version)] = long.versions.items()
    assert (len(name), len(version), len(long.asks)) == (40, 40, 80)
    assert "\n" not in read.asks
    assert len(read.asks) <= 80
    for payload, cause in (
        (b"x" * 1_025, DropCause.OVERSIZE),
        (b" " * 1_024, DropCause.MALFORMED),
        (b"\xff", DropCause.MALFORMED),
        (b'{"versions": 7}', DropCause.MALFORMED),
    ):
        with pytest.raises(DroppedError) as refused:
            read_introduction(payload)
        assert refused.value.cause is cause


@dataclass
class SlowEngine:
    """Takes a message only when it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    most: int = 0
    fails: bool = False

    async def open(self) -> None:
        return None

    async def send(self, _peer: Peer, _data: bytes, *, keep: bool) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.let.wait()
        self.under_way -= 1
        if self.fails:
            raise EngineError(f"no way, {keep}")

    async def receive(self) -> tuple[bytes, ...]:
        await asyncio.Event().wait()
        return ()

    async def close(self) -> None:
        return None


async def test_four_messages_to_a_peer_are_handed_over_side_by_side() -> None:
    members, engine = new_members((SCOUT, CRITIC)), SlowEngine()
    async with MeshEndpoint(members.keys["desk"], members.book, engine, versions=VERSIONS) as desk:
        assert desk.trouble == ""
        for _ in range(9):
            desk.greet(members.peer(SCOUT))
        await settle()
        assert engine.most == 4
        # Whoever is slow holds up nobody else.
        desk.greet(members.peer(CRITIC))
        await settle()
        assert engine.most == 5
        engine.fails = True
        engine.let.set()
        await settle()
        assert desk.trouble == "no way, False"
        engine.fails = False
        desk.greet(members.peer(SCOUT))
        await settle()
        assert desk.trouble == ""


async def test_what_arrives_is_noticed_before_the_next_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mesh_endpoint, "_TICK", 60.0)
    members, wire = new_members((SCOUT, CRITIC)), Wire()
    async with endpoint(members, "desk", wire) as desk, asyncio.timeout(60):
        played = Played(members, wire, desk)
        desk.on_frame = played.taken.append
        waiting = asyncio.create_task(desk.met((played.peer(),), 60))
        await settle()
        assert not waiting.done()
        await played.meet()
        assert await waiting == (played.peer(),)
        answered = asyncio.create_task(desk.answered((played.peer(),), 60))
        await settle()
        hellos = [frame.header.seq for frame in played.sent(FrameKind.HELLO)]
        told = msgspec.json.encode(Introduction())
        await played.tell(FrameKind.WELCOME, told, acks=tuple(hellos))
        await answered


async def test_a_greeting_is_answered_once_and_measured(played: Played) -> None:
    played.desk.greet(played.peer())
    await settle()
    [hello] = played.sent(FrameKind.HELLO)
    assert hello.header.seq == 0
    assert read_introduction(hello.payload).versions == VERSIONS
    before = played.desk.sight(played.peer())
    assert (before.visible, before.lost, before.round_trip) == (False, 1.0, None)

    told = msgspec.json.encode(Introduction({"zuno": "other"}, "a model"))
    await played.tell(FrameKind.WELCOME, told, acks=(hello.header.seq,))

    [ready] = played.sent(FrameKind.READY)
    assert (ready.header.to_boot, ready.header.seq) == (OURS, 1)
    assert played.desk.versions_of(played.peer()) == {"zuno": "other"}
    assert played.desk.asks(played.peer()) == "a model"
    sight = played.desk.sight(played.peer())
    assert (sight.visible, sight.lost, sight.missing) == (True, 0.0, 0)
    assert sight.round_trip is not None
    assert 0 < sight.round_trip < 5
    async with asyncio.timeout(60):
        await played.desk.answered((played.peer(),), 60)
    played.desk.greet(played.peer(CRITIC))
    both = asyncio.create_task(
        played.desk.answered((played.peer(), played.peer(CRITIC)), 60), name="both"
    )
    await settle()
    assert not both.done()
    [other] = played.sent(FrameKind.HELLO, CRITIC)
    await played.tell(FrameKind.WELCOME, told, name=CRITIC, acks=(other.header.seq,))
    async with asyncio.timeout(60):
        await both


async def test_the_greetings_of_others_are_welcomed_together(played: Played) -> None:
    first = await played.tell(FrameKind.HELLO, to_boot="")
    [welcome] = played.sent(FrameKind.WELCOME)
    assert welcome.header.acks == (first,)
    assert welcome.header.to_boot == OURS
    # A hello alone may be an old one: nobody is believed to be there by it.
    assert not played.desk.sight(played.peer()).visible
    met = await played.meet()
    await played.tell(FrameKind.HELLO, to_boot="", boot=EARLIER)
    assert played.desk.dropped == {DropCause.STALE: 1}
    await played.tell(FrameKind.HELLO, to_boot="", seq=met)
    assert played.desk.dropped == {DropCause.STALE: 1, DropCause.REPLAYED: 1}


async def test_a_message_waits_for_its_peer_and_is_drained_when_acknowledged(
    played: Played,
) -> None:
    assert not played.desk.send_once(played.peer(), _data(played), b"nobody listens")
    await played.send(b"one")
    assert played.payloads() == []
    assert played.sent(FrameKind.HELLO)
    assert not await played.desk.drained(0.01)

    await played.meet()
    [frame] = played.sent(FrameKind.DATA)
    assert frame.header.wants_ack
    assert (frame.payload, frame.header.to_boot) == (b"one", OURS)
    assert not await played.desk.drained(0.01)

    await played.tell(FrameKind.ACK, acks=(frame.header.seq,))
    assert await played.desk.drained(0.01)
    assert played.desk.send_once(played.peer(), _data(played), b"by the way")
    await settle()
    assert not played.sent(FrameKind.DATA)[-1].header.wants_ack
    assert await played.desk.drained(0.01)


async def test_all_is_drained_only_when_every_peer_acknowledged(played: Played) -> None:
    for name in (SCOUT, CRITIC):
        await played.meet(name)
        await played.send(b"one", name=name)
    [frame] = played.sent(FrameKind.DATA)
    await played.tell(FrameKind.ACK, acks=(frame.header.seq,))
    assert not await played.desk.drained(0.01)
    [frame] = played.sent(FrameKind.DATA, CRITIC)
    await played.tell(FrameKind.ACK, name=CRITIC, acks=(frame.header.seq,))
    assert await played.desk.drained(0.01)


async def test_sixteen_are_under_way_at_once_and_the_rest_follows_in_order(played: Played) -> None:
    await played.meet()
    numbered = [b"%d" % number for number in range(20)]
    for payload in numbered:
        await played.send(payload)
    assert played.first_tries() == numbered[:16]
    assert played.desk._links[played.peer().key].unanswered == 20
    first = played.sent(FrameKind.DATA)[0]
    await played.tell(FrameKind.ACK, acks=(first.header.seq,))
    assert played.first_tries() == numbered[:17]


async def test_a_later_process_gets_what_the_earlier_did_not_acknowledge_first(
    played: Played,
) -> None:
    boots: list[bool] = []
    played.desk.on_boot = lambda _peer, first: boots.append(first)
    await played.meet()
    numbered = [b"%d" % number for number in range(18)]
    for payload in numbered:
        await played.send(payload)

    await played.meet(boot=LATER)

    again = [
        frame.payload for frame in played.sent(FrameKind.DATA) if frame.header.to_boot == LATER
    ]
    assert list(dict.fromkeys(again)) == numbered[:16]
    assert boots == [True, False]
    # The earlier process is not heard any more.
    await played.tell(FrameKind.DATA, b"late", boot=OURS)
    assert played.taken == []
    assert played.desk.dropped == {DropCause.STALE: 1}


async def test_nothing_of_a_request_that_is_over_is_tried_again(played: Played) -> None:
    await played.meet()
    for number in range(16):
        await played.send(b"under way %d" % number, request=f"req_{number % 2}")
    for request in ("req_0", "req_1"):
        await played.send(f"waits {request}".encode(), request=request)
    before = len(played.payloads())

    played.desk.forget("req_0")
    await pass_time(0.5)

    after = played.payloads()[before:]
    assert {f"under way {number}".encode() for number in range(1, 16, 2)} <= set(after)
    assert b"waits req_1" in after
    assert not {f"under way {number}".encode() for number in range(0, 16, 2)} & set(after)
    assert b"waits req_0" not in after


async def test_what_was_tried_as_often_as_it_may_is_given_up(played: Played) -> None:
    await played.meet()
    await played.send(b"once", attempts=1)
    await played.send(b"twice", attempts=2)
    assert await played.desk.drained(5)
    assert Counter(played.payloads()) == {b"once": 1, b"twice": 2}
    assert played.desk.sight(played.peer()).resent == 1


async def test_where_many_wait_a_thought_is_left(played: Played) -> None:
    for _ in range(1_024):
        assert await played.desk.send(played.peer(), _data(played), b"", attempts=1, droppable=True)
    assert not await played.desk.send(played.peer(), _data(played), b"", attempts=1, droppable=True)
    waiting = asyncio.create_task(played.send(b"it waits for room"))
    await settle()
    assert not waiting.done()
    waiting.cancel()


async def test_a_message_is_taken_once_and_acknowledged_each_time(played: Played) -> None:
    await played.meet()
    seq = await played.tell(FrameKind.DATA, b"one", wants_ack=True)
    await played.tell(FrameKind.DATA, b"one", wants_ack=True, seq=seq)
    await played.tell(FrameKind.DATA, b"quiet")
    assert [frame.payload for frame in played.taken] == [b"one", b"quiet"]
    assert played.desk.dropped == {DropCause.REPLAYED: 1}
    assert [frame.header.acks for frame in played.sent(FrameKind.ACK)] == [(seq,), (seq,)]


async def test_what_is_meant_for_an_earlier_process_is_not_taken_and_greeted(
    played: Played,
) -> None:
    await played.tell(FrameKind.DATA, b"one", to_boot="0", wants_ack=True)
    assert played.taken == []
    assert played.desk.dropped == {DropCause.STALE: 1}
    assert played.sent(FrameKind.ACK) == []
    assert len(played.sent(FrameKind.HELLO)) == 1
    # Another word of it at once is no reason to greet again.
    await played.tell(FrameKind.DATA, b"two", to_boot="0")
    await played.tell(FrameKind.ACK, to_boot="0")
    assert len(played.sent(FrameKind.HELLO)) == 1


async def test_what_cannot_be_taken_makes_nobody_deaf(played: Played) -> None:
    def fail(_: Frame) -> None:
        raise ValueError("\x1b[31mwords of others")

    await played.meet()
    played.desk.on_frame = fail
    await played.tell(FrameKind.DATA, b"one", wants_ack=True)
    assert played.desk.dropped == {DropCause.MALFORMED: 1}
    assert played.desk.trouble.startswith("A message could not be taken")
    assert "words of others" not in played.desk.trouble
    assert played.sent(FrameKind.ACK) == []
    played.desk.on_frame = played.taken.append
    await played.tell(FrameKind.DATA, b"two")
    assert [frame.payload for frame in played.taken] == [b"two"]


async def test_an_endpoint_that_nobody_listens_at_takes_no_message() -> None:
    members, wire = new_members((SCOUT,)), Wire()
    async with endpoint(members, "desk", wire) as desk:
        played = Played(members, wire, desk)
        await played.meet()
        await played.tell(FrameKind.DATA, b"one")
        assert desk.dropped == {DropCause.WRONG_REQUEST: 1}


async def test_a_message_to_oneself_is_nobodys(played: Played) -> None:
    header = FrameHeader(FrameKind.HELLO, played.desk.me, OURS, 0)
    played.wire.inject(played.desk.me, seal_frame(played.members.keys["desk"], header))
    await settle()
    assert played.desk.dropped == {DropCause.WRONG_ROLE: 1}


async def test_trouble_of_the_engine_is_told_until_it_is_over(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry = played.wire.carry

    def broken(_to: str, _data: bytes) -> None:
        raise EngineError("The node is gone.")

    monkeypatch.setattr(played.wire, "carry", broken)
    played.desk.greet(played.peer())
    await settle()
    assert played.desk.trouble == "The node is gone."
    monkeypatch.setattr(played.wire, "carry", carry)
    played.desk.greet(played.peer())
    await settle()
    assert played.desk.trouble == ""


async def test_of_many_greetings_the_last_are_remembered(played: Played) -> None:
    for _ in range(40):
        played.desk.greet(played.peer())
    await settle()
    hellos = [frame.header.seq for frame in played.sent(FrameKind.HELLO)]
    assert len(hellos) == 40
    assert played.desk.sight(played.peer()).lost == 32 / 40
    await played.tell(FrameKind.WELCOME, msgspec.json.encode(Introduction()), acks=(hellos[0],))
    assert played.desk.sight(played.peer()).round_trip is None
    await played.tell(FrameKind.WELCOME, msgspec.json.encode(Introduction()), acks=(hellos[8],))
    assert played.desk.sight(played.peer()).round_trip is not None


async def test_whoever_is_asked_for_is_greeted_until_it_answers(played: Played) -> None:
    peers = (played.peer(), played.peer(CRITIC))
    assert await played.desk.met(peers, 0.7) == ()
    # At once, after a quarter of a second and, where the machine is quick, 0.4 s later.
    assert len(played.sent(FrameKind.HELLO)) in (2, 3)
    await played.meet()
    assert await played.desk.met(peers, 0.1) == (played.peer(),)
    await played.meet(CRITIC)
    assert await played.desk.met(peers, 5) == peers


async def test_what_is_not_acknowledged_is_sent_again_by_a_schedule_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Moment by moment, on a clock of the test's own."""
    moment, sent = 0, list[tuple[int, FrameKind]]()
    monkeypatch.setattr(mesh_endpoint, "_TICK", 3_600.0)
    monkeypatch.setattr(mesh_endpoint, "_now", lambda: moment / 1_000)
    members, wire = new_members((SCOUT, CRITIC)), Wire()
    async with endpoint(members, "desk", wire) as desk:
        played = Played(members, wire, desk)
        await played.meet()
        link = desk._links[played.peer().key]
        link.next_hello = 0.0

        def note(_link: object, header: FrameHeader, payload: bytes, *, keep: bool = False) -> None:
            sent.append((moment, header.kind))
            assert keep is (header.kind is FrameKind.DATA)
            assert bool(payload)

        monkeypatch.setattr(desk, "_hand_over", note)
        await played.send(b"one", attempts=5)
        while moment < 6_000:
            desk._repeat_to(link)
            moment += 10

    # A wait of a quarter of a second, then each 1.6 times the one before.
    data = [at for at, kind in sent if kind is FrameKind.DATA]
    assert data == pytest.approx([0, 250, 650, 1_290, 2_314], abs=20)
    assert link.resent == 4
    assert not link.pending
    # From the third try on the peer may have been started anew: it is greeted, ever later.
    hellos = [at for at, kind in sent if kind is FrameKind.HELLO]
    assert hellos == pytest.approx([650, 900, 1_300, 1_940, 2_964], abs=40)


async def test_who_waits_for_room_gets_it_when_what_is_under_way_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    for name, value in (("_TICK", 3_600.0), ("_MOST_WAITING", 2), ("_IN_FLIGHT", 1)):
        monkeypatch.setattr(mesh_endpoint, name, value)
    monkeypatch.setattr(mesh_endpoint, "_now", lambda: now)
    members, wire = new_members((SCOUT,)), Wire()
    async with endpoint(members, "desk", wire) as desk, asyncio.timeout(60):
        played = Played(members, wire, desk)
        await played.meet()
        for number in range(3):
            assert await played.send(b"%d" % number, attempts=1)
        header = FrameHeader(FrameKind.DATA, played.peer().key, "", 0, request="req_1")
        assert not await desk.send(played.peer(), header, b"x", attempts=1, droppable=True)
        waiting = asyncio.create_task(played.send(b"last", attempts=1))
        await settle()
        assert not waiting.done()
        now = 1.0
        desk._repeat_to(desk._links[played.peer().key])
        assert await waiting


async def test_it_looks_some_twenty_times_a_second_and_ends_with_all_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def count(_link: object) -> None:
        nonlocal looks
        looks += 1

    members, wire = new_members((SCOUT,)), Wire()
    async with endpoint(members, "desk", wire) as desk:
        monkeypatch.setattr(desk, "_repeat_to", count)
        begun = set(desk._tasks)
        await pass_time(0.3)
    assert 1 <= looks <= 7
    assert len(begun) == 2
    assert all(task.done() for task in begun)


@pytest.mark.parametrize(
    ("kind", "boot", "greets"),
    [
        (FrameKind.DATA, LATER, 1),
        (FrameKind.DATA, OURS, 0),
        (FrameKind.DATA, EARLIER, 0),
        (FrameKind.ACK, LATER, 0),
        (FrameKind.READY, LATER, 0),
    ],
)
async def test_only_a_later_process_that_speaks_to_an_earlier_one_of_ours_is_greeted(
    played: Played, kind: FrameKind, boot: str, greets: int
) -> None:
    await played.meet()
    before = len(played.sent(FrameKind.HELLO))
    await played.tell(kind, msgspec.json.encode(Introduction()), boot=boot, to_boot="0")
    assert len(played.sent(FrameKind.HELLO)) - before == greets
    assert played.desk.dropped == {DropCause.STALE: 1}
    assert played.taken == []


async def test_a_peer_is_known_by_its_last_introduction_and_its_middle_round_trip(
    played: Played,
) -> None:
    await played.meet()
    assert played.desk.versions_of(played.peer()) == {}
    told = msgspec.json.encode(Introduction({"zuno": "9"}, "a model"))
    await played.tell(FrameKind.READY, told)
    assert played.desk.versions_of(played.peer()) == {"zuno": "9"}
    assert played.desk.asks(played.peer()) == "a model"
    link = played.desk._links[played.peer().key]
    link.round_trips.clear()
    link.round_trips.extend([0.9, 0.1, 0.3, 0.2, 0.4])
    assert played.desk.sight(played.peer()).round_trip == 0.3


async def test_how_long_ago_a_peer_was_heard_of_is_told(played: Played) -> None:
    assert played.desk.sight(played.peer()).age is None
    await played.meet()
    age = played.desk.sight(played.peer()).age
    assert age is not None
    assert 0 <= age < 5


async def test_greetings_come_ever_later_and_soon_again_once_one_was_answered(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(mesh_endpoint, "_now", lambda: now)
    link = played.desk._links[played.peer().key]

    def waits(greetings: int) -> list[float]:
        nonlocal now
        found = []
        for _ in range(greetings):
            played.desk._greet_when_due(link)
            found.append(round(link.next_hello - now, 3))
            now = link.next_hello
        return found

    assert waits(6) == [0.25, 0.4, 0.64, 1.024, 1.638, 2.0]
    link.greeted.clear()
    assert waits(2) == [0.25, 0.4]


def _data(played: Played) -> FrameHeader:
    header = FrameHeader(FrameKind.DATA, played.peer().key, "", 0)
    return replace(header, request="req_1")
