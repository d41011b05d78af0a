"""Invitations: one line there, one back, one fingerprint; whatever was changed is refused."""

from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.bus.envelope import CLI, Role
from agents.mesh import inviting
from agents.mesh.frame import new_key
from agents.mesh.layout import DESK, MeshPlan, PlannedMember, lay_out, write_document
from agents.mesh.peers import Engine, MeshFileError, read_book, read_member

NOW = 1_000_000.0
URL = "nats://10.0.0.1:4222"
SCOUT = inviting.Invited("scout", "scout", "Bob", "ab" * 16, int(NOW) + 60, URL)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    members = (PlannedMember(DESK, CLI), PlannedMember("critic", Role("critic")))
    folders = {DESK: tmp_path / "desk", "critic": tmp_path / "critic"}
    lay_out(MeshPlan("zuno-ab", Engine.NATS, members, 0, URL), folders)
    return folders[DESK]


def answered(desk: Path, folder: Path, invited: inviting.Invited = SCOUT) -> str:
    code = inviting.invite(desk, invited)
    return inviting.join(folder, inviting.read_invitation(code, now=NOW), new_key())


def test_both_sides_end_with_one_book_and_one_fingerprint(desk: Path, tmp_path: Path) -> None:
    theirs, critic = tmp_path / "theirs", tmp_path / "critic"
    invitation = inviting.read_invitation(inviting.invite(desk, SCOUT), now=NOW)
    key = new_key()
    answer = inviting.join(theirs, invitation, key)
    peer, shown = inviting.read_answer(desk, answer, now=NOW)
    before = read_book(desk)
    inviting.admit(desk, [critic], peer)

    assert (peer.name, peer.role, peer.owner, peer.key) == ("scout", "scout", "Bob", key.name)
    assert before.find("scout") is None, "an answer alone admits nobody"
    assert read_book(desk) == read_book(critic) == read_book(theirs)
    assert (read_member(theirs).name, read_member(theirs).url) == ("scout", URL)
    assert shown == inviting.fingerprint(invitation, key.name)
    with pytest.raises(MeshFileError, match="No invitation"):
        inviting.read_answer(desk, answer, now=NOW)


def test_a_line_with_a_letter_changed_is_refused_or_gives_another_fingerprint(
    desk: Path, tmp_path: Path
) -> None:
    code = inviting.invite(desk, SCOUT)
    key = new_key()
    right = inviting.fingerprint(inviting.read_invitation(code, now=NOW), key.name)
    for place in range(len(code)):
        other = code[:place] + ("A" if code[place] != "A" else "B") + code[place + 1 :]
        with suppress(MeshFileError):
            # The last letter may hold bits that stand for nothing.
            changed = inviting.read_invitation(other, now=NOW)
            assert inviting.fingerprint(changed, key.name) == right
            assert place == len(code) - 1
    answer = answered(desk, tmp_path / "theirs")
    for place in range(len(answer) - 1):
        other = answer[:place] + ("A" if answer[place] != "A" else "B") + answer[place + 1 :]
        with pytest.raises(MeshFileError):
            inviting.read_answer(desk, other, now=NOW)


def changed_on_the_way(invitation: inviting.Invitation, part: str) -> inviting.Invitation:
    invited, book = invitation.invited, invitation.book
    stranger = replace(book.peers[1], name="theirs", key=new_key().name)
    return {
        "server": replace(invitation, invited=replace(invited, url="nats://10.9.9.9:4222")),
        "role": replace(invitation, invited=replace(invited, role="critic")),
        "owner": replace(invitation, invited=replace(invited, owner="Mallory")),
        "another desk": replace(invitation, book=replace(book, peers=(stranger, *book.peers[1:]))),
        "another agent": replace(invitation, book=replace(book, peers=(*book.peers, stranger))),
    }[part]


@pytest.mark.parametrize("part", ["role", "owner"])
def test_an_answer_from_somebody_else_than_invited_is_refused(
    desk: Path, tmp_path: Path, part: str
) -> None:
    invitation = inviting.read_invitation(inviting.invite(desk, SCOUT), now=NOW)
    answer = inviting.join(tmp_path / "theirs", changed_on_the_way(invitation, part), new_key())

    with pytest.raises(MeshFileError):
        inviting.read_answer(desk, answer, now=NOW)


@pytest.mark.parametrize("part", ["server", "another desk", "another agent"])
def test_whoever_stands_between_gives_another_fingerprint(
    desk: Path, tmp_path: Path, part: str
) -> None:
    """They read the line and pass another one on; what it says comes back unchanged."""
    invitation = inviting.read_invitation(inviting.invite(desk, SCOUT), now=NOW)
    changed, key = changed_on_the_way(invitation, part), new_key()
    answer = inviting.join(tmp_path / "theirs", changed, key)

    _, shown = inviting.read_answer(desk, answer, now=NOW)

    assert shown != inviting.fingerprint(changed, key.name)


ODD: list[dict[str, str]] = [
    {"role": "scout; curl x|sh \x1b[2J"},
    {"name": "Critic 2"},
    {"url": "nats://a b"},
]


@pytest.mark.parametrize("odd", ODD)
def test_what_nobody_could_join_by_is_not_written(desk: Path, odd: dict[str, str]) -> None:
    with pytest.raises(MeshFileError, match="cannot be invited"):
        inviting.invite(desk, replace(SCOUT, **odd))

    assert inviting.invitations(desk) == ()


def test_an_invitation_is_of_one_desk(desk: Path) -> None:
    book = read_book(desk)
    second = replace(book.peers[0], name="desk2", key=new_key().name)
    write_document(desk / "peers.json", replace(book, peers=(*book.peers, second)))

    with pytest.raises(MeshFileError, match="no one desk"):
        inviting.read_invitation(inviting.invite(desk, SCOUT), now=NOW)


def test_an_answer_to_another_invitation_or_after_its_time_admits_nobody(
    desk: Path, tmp_path: Path
) -> None:
    late = answered(desk, tmp_path / "late")
    with pytest.raises(MeshFileError, match="lapsed"):
        inviting.read_answer(desk, late, now=NOW + 61)
    inviting.invite(desk, replace(SCOUT, secret="cd" * 16))
    with pytest.raises(MeshFileError, match="No invitation"):
        inviting.read_answer(desk, late, now=NOW)
    with pytest.raises(MeshFileError, match="lapsed"):
        inviting.read_invitation(inviting.invite(desk, SCOUT), now=NOW + 61)
    with pytest.raises(MeshFileError, match="on the mesh already"):
        inviting.invite(desk, replace(SCOUT, name="critic", role="critic"))
    with pytest.raises(MeshFileError, match="holds a key already"):
        answered(desk, tmp_path / "late")


def test_who_is_revoked_is_in_no_book_here(desk: Path, tmp_path: Path) -> None:
    peer, _ = inviting.read_answer(desk, answered(desk, tmp_path / "theirs"), now=NOW)
    inviting.admit(desk, [tmp_path / "critic"], peer)
    inviting.revoke(desk, [tmp_path / "critic"], "scout")

    assert [peer.name for peer in read_book(desk).peers] == [DESK, "critic"]
    assert read_book(tmp_path / "critic") == read_book(desk)
    for name in ("scout", DESK):
        with pytest.raises(MeshFileError, match="there are: critic"):
            inviting.revoke(desk, [], name)
