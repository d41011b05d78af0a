"""One endpoint against a peer played by hand: every frame it sends, every frame it is sent."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import msgspec
import pytest
from msgspec.structs import replace

from agents.mesh.endpoint import (
    Introduction,
    MeshEndpoint,
    new_boot,
    read_introduction,
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
from agents.mesh.peers import Peer
from tests.fakes.mesh_wire import VERSIONS, Members, Wire, endpoint, new_members
from tests.fakes.small_debate import CRITIC, SCOUT
from tests.virtual_time import pass_time

EARLIER, OURS, LATER = "1", "2", "3"


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


def test_a_later_process_has_a_greater_name() -> None:
    first, second = new_boot(), new_boot()
    assert first < second


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
        await played.desk.wait_for_answers((played.peer(),), 60)
    played.desk.greet(played.peer(CRITIC))
    both = asyncio.create_task(
        played.desk.wait_for_answers((played.peer(), played.peer(CRITIC)), 60), name="both"
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
    assert not await played.desk.wait_drained(0.01)

    await played.meet()
    [frame] = played.sent(FrameKind.DATA)
    assert frame.header.wants_ack
    assert (frame.payload, frame.header.to_boot) == (b"one", OURS)
    assert not await played.desk.wait_drained(0.01)

    await played.tell(FrameKind.ACK, acks=(frame.header.seq,))
    assert await played.desk.wait_drained(0.01)
    assert played.desk.send_once(played.peer(), _data(played), b"by the way")
    await settle()
    assert not played.sent(FrameKind.DATA)[-1].header.wants_ack
    assert await played.desk.wait_drained(0.01)


async def test_all_is_drained_only_when_every_peer_acknowledged(played: Played) -> None:
    for name in (SCOUT, CRITIC):
        await played.meet(name)
        await played.send(b"one", name=name)
    [frame] = played.sent(FrameKind.DATA)
    await played.tell(FrameKind.ACK, acks=(frame.header.seq,))
    assert not await played.desk.wait_drained(0.01)
    [frame] = played.sent(FrameKind.DATA, CRITIC)
    await played.tell(FrameKind.ACK, name=CRITIC, acks=(frame.header.seq,))
    assert await played.desk.wait_drained(0.01)


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
    assert await played.desk.wait_drained(5)
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


async def test_whoever_is_asked_for_is_greeted_until_it_answers(played: Played) -> None:
    peers = (played.peer(), played.peer(CRITIC))
    assert await played.desk.meet(peers, 0.7) == ()
    # At once, after a quarter of a second and, where the machine is quick, 0.4 s later.
    assert len(played.sent(FrameKind.HELLO)) in (2, 3)
    await played.meet()
    assert await played.desk.meet(peers, 0.1) == (played.peer(),)
    await played.meet(CRITIC)
    assert await played.desk.meet(peers, 5) == peers


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


def _data(played: Played) -> FrameHeader:
    header = FrameHeader(FrameKind.DATA, played.peer().key, "", 0)
    return replace(header, request="req_1")
