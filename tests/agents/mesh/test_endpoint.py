"""One endpoint against a peer played by hand: every frame it sends, every frame it is sent."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from agents.bus.envelope import CLI
from agents.mesh.endpoint import (
    Introduction,
    MeshEndpoint,
    SeenNumbers,
    new_boot,
    read_introduction,
)
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    MAGIC,
    MOST_FRAME,
    DropCause,
    DroppedError,
    Frame,
    FrameHeader,
    FrameKind,
    MeshKeyError,
    new_key,
    open_frame,
    read_key,
    seal_frame,
    write_key,
)
from agents.mesh.peers import MeshFileError, Peer, PeerBook, checked_book, read_book, read_member
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


MEMBERS = new_members((SCOUT, CRITIC))
DESK = MEMBERS.keys["desk"]
HEADER = FrameHeader(FrameKind.DATA, DESK.name, "1", 0, to_boot="2", request="req_1")
WHOLE = seal_frame(MEMBERS.keys["scout"], HEADER, b"{}")


def cause(data: bytes) -> DropCause:
    with pytest.raises(DroppedError) as refused:
        open_frame(data, MEMBERS.book, DESK.name)
    return refused.value.cause


def test_numbers_that_were_cleared_away_are_those_that_are_too_old() -> None:
    seen = SeenNumbers()
    for number in range(2 * 4_096 + 1):
        seen.add(number)
    newest = 2 * 4_096
    assert not any(seen.is_new(number) for number in range(newest - 4_096, newest + 1))
    assert seen.is_new(newest + 1)


def test_without_its_package_a_key_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MeshKeyError, match="pip install"):
        new_key()


def test_a_whole_message_says_who_sent_it() -> None:
    frame = open_frame(WHOLE, MEMBERS.book, DESK.name)
    assert (frame.sender.name, frame.header, frame.payload) == ("scout", HEADER, b"{}")


def test_every_changed_bit_is_noticed() -> None:
    for place in range(len(WHOLE)):
        changed = WHOLE[:place] + bytes([WHOLE[place] ^ 1]) + WHOLE[place + 1 :]
        assert cause(changed) in (
            *(DropCause.FORGED, DropCause.STRANGER),
            *(DropCause.MALFORMED, DropCause.OTHER_VERSION),
        )


def test_what_is_not_right_is_named() -> None:
    scout = MEMBERS.keys["scout"]
    assert cause(b"") is DropCause.MALFORMED
    assert cause(b'{"service": "x"}') is DropCause.MALFORMED
    assert cause(MAGIC + b"x" * 50) is DropCause.MALFORMED
    assert cause(b"zuno-mesh 2\n" + WHOLE[len(MAGIC) :]) is DropCause.OTHER_VERSION
    assert cause(WHOLE + b"x" * MOST_FRAME) is DropCause.OVERSIZE
    assert cause(seal_frame(new_key(), HEADER)) is DropCause.STRANGER
    assert cause(WHOLE[:44] + bytes(64) + WHOLE[108:]) is DropCause.FORGED
    other = replace(HEADER, to=MEMBERS.keys["critic"].name)
    assert cause(seal_frame(scout, other)) is DropCause.WRONG_RECIPIENT
    # A header that is too long is refused for that, before anybody reads it.
    long = replace(HEADER, request="x" * 20_000)
    assert cause(seal_frame(scout, long)) is DropCause.OVERSIZE
    rest = len(msgspec.json.encode(replace(HEADER, request="x"))) - 1
    widest = replace(HEADER, request="x" * (16_384 - rest))
    assert open_frame(seal_frame(scout, widest), MEMBERS.book, DESK.name).header == widest
    wider = replace(HEADER, request="x" * (16_385 - rest))
    assert cause(seal_frame(scout, wider)) is DropCause.OVERSIZE
    body = b'{"kind": "data", "unknown": 1}\n'
    signed = MAGIC + scout.public + scout.sign(MAGIC + body) + body
    assert cause(signed) is DropCause.MALFORMED


def test_the_largest_message_fits_whatever_its_header_and_one_byte_more_does_not() -> None:
    scout = MEMBERS.keys["scout"]
    rest = len(msgspec.json.encode(replace(HEADER, request="x"))) - 1
    widest = replace(HEADER, request="x" * (16_384 - rest))
    assert len(seal_frame(scout, widest, b"x" * LARGEST_PAYLOAD)) == MOST_FRAME
    # So much is looked at, and refused for what it is.
    assert cause(b"x" * MOST_FRAME) is DropCause.MALFORMED
    assert cause(b"x" * (MOST_FRAME + 1)) is DropCause.OVERSIZE


def test_a_key_is_written_into_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    path, key = tmp_path / "mesh" / "scout" / "key.pem", new_key()
    write_key(path, key)
    assert read_key(path).name == key.name
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_each_number_is_new_once_and_old_ones_never_again() -> None:
    seen = SeenNumbers()
    for number in (5, 3, 9_000):
        assert seen.is_new(number)
        seen.add(number)
        assert not seen.is_new(number)
    assert not seen.is_new(4)
    assert not seen.is_new(-1)
    assert seen.is_new(8_999)


def test_a_key_file_is_private_and_never_replaced(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path, key = tmp_path / "key.pem", new_key()
    write_key(path, key)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path).name == key.name
    with pytest.raises(FileExistsError):
        write_key(path, new_key())
    path.chmod(0o644)
    with pytest.raises(MeshKeyError):
        read_key(path)
    other = tmp_path / "other.pem"
    of_curve = ec.generate_private_key(ec.SECP256R1())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    other.write_bytes(of_curve.private_bytes(*form, serialization.NoEncryption()))
    other.chmod(0o600)
    with pytest.raises(MeshKeyError, match="Ed25519"):
        read_key(other)
    (tmp_path / "broken.pem").write_text("nothing")
    (tmp_path / "broken.pem").chmod(0o600)
    with pytest.raises(MeshKeyError):
        read_key(tmp_path / "broken.pem")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"mesh": "zuno", "peers": [{"name": "x"}]}'])
def test_a_broken_peer_file_is_refused_in_words(tmp_path, text: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "peers.json").write_text(text)
    (tmp_path / "member.json").write_text(text)
    with pytest.raises(MeshFileError):
        read_book(tmp_path)
    with pytest.raises(MeshFileError):
        read_member(tmp_path)
    with pytest.raises(MeshFileError):
        read_book(tmp_path / "nowhere")


def test_a_peer_file_has_at_most_a_megabyte(tmp_path) -> None:  # type: ignore[no-untyped-def]
    written = msgspec.json.encode(MEMBERS.book)
    for size, fits in ((1 << 20, True), ((1 << 20) + 1, False)):
        (tmp_path / "peers.json").write_bytes(written + b" " * (size - len(written)))
        if fits:
            assert read_book(tmp_path) == MEMBERS.book
            continue
        with pytest.raises(MeshFileError, match="more than 1,048,576 bytes"):
            read_book(tmp_path)


@pytest.mark.parametrize(("version", "fits"), [(None, True), (1, True), (2, False), (99, False)])
def test_a_peer_file_of_a_newer_zuno_is_said_to_be_so(
    tmp_path: Path, version: int | None, *, fits: bool
) -> None:
    told = {} if version is None else {"version": version}
    written = {**msgspec.to_builtins(MEMBERS.book), **told}
    (tmp_path / "peers.json").write_bytes(msgspec.json.encode(written))
    if fits:
        assert read_book(tmp_path).peers == MEMBERS.book.peers
        return
    with pytest.raises(MeshFileError, match="newer zuno"):
        read_book(tmp_path)


def test_a_key_stands_for_one_peer_alone() -> None:
    key = new_key().name
    twice = PeerBook("zuno", (Peer("desk", CLI, key), Peer("scout", SCOUT, key)))
    with pytest.raises(MeshFileError):
        checked_book(twice)
