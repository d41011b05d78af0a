"""Nothing is read before a pinned key's signature holds, and each message is taken once."""

import sys
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from agents.bus.envelope import CLI
from agents.mesh.endpoint import SeenNumbers
from agents.mesh.frame import (
    LARGEST_PAYLOAD,
    MAGIC,
    MOST_FRAME,
    DropCause,
    DroppedError,
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
from tests.fakes.mesh_wire import new_members
from tests.fakes.small_debate import CRITIC, SCOUT

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
