"""Invitations: one line there, one back, one fingerprint; whatever was changed is refused."""

from contextlib import suppress
from pathlib import Path

import pytest

from agents.bus.envelope import CLI, Role
from agents.mesh import inviting
from agents.mesh.frame import new_key
from agents.mesh.layout import DESK, MeshPlan, PlannedMember, lay_out
from agents.mesh.peers import Engine, MeshFileError, read_book, read_member

NOW = 1_000_000.0
URL = "nats://10.0.0.1:4222"
SCOUT = inviting.Invited("scout", "scout", "Bob", "ab" * 16, int(NOW) + 60)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    members = (PlannedMember(DESK, CLI), PlannedMember("critic", Role("critic")))
    folders = {DESK: tmp_path / "desk", "critic": tmp_path / "critic"}
    lay_out(MeshPlan("zuno-ab", Engine.NATS, members, 0, URL), folders)
    return folders[DESK]


def answered(desk: Path, folder: Path, invited: inviting.Invited = SCOUT) -> str:
    code = inviting.invite(desk, invited, URL)
    return inviting.join(folder, inviting.read_invitation(code, now=NOW), new_key())


def test_both_sides_end_with_one_book_and_one_fingerprint(desk: Path, tmp_path: Path) -> None:
    theirs, critic = tmp_path / "theirs", tmp_path / "critic"
    invitation = inviting.read_invitation(inviting.invite(desk, SCOUT, URL), now=NOW)
    key = new_key()
    answer = inviting.join(theirs, invitation, key)
    peer = inviting.read_answer(desk, answer, now=NOW)
    before = read_book(desk)
    inviting.admit(desk, [critic], peer)

    assert (peer.name, peer.role, peer.owner, peer.key) == ("scout", "scout", "Bob", key.name)
    assert before.find("scout") is None, "an answer alone admits nobody"
    assert read_book(desk) == read_book(critic) == read_book(theirs)
    assert (read_member(theirs).name, read_member(theirs).url) == ("scout", URL)
    assert inviting.fingerprint(read_book(desk), peer.key) == inviting.fingerprint(
        invitation.book, key.name
    )
    with pytest.raises(MeshFileError, match="No invitation"):
        inviting.read_answer(desk, answer, now=NOW)


def test_a_line_with_a_letter_changed_is_refused_or_gives_another_fingerprint(
    desk: Path, tmp_path: Path
) -> None:
    code = inviting.invite(desk, SCOUT, URL)
    key = new_key()
    right = inviting.fingerprint(read_book(desk), key.name)
    for place in range(len(code)):
        other = code[:place] + ("A" if code[place] != "A" else "B") + code[place + 1 :]
        with suppress(MeshFileError):
            # The last letter may hold bits that stand for nothing.
            changed = inviting.read_invitation(other, now=NOW)
            assert inviting.fingerprint(changed.book, key.name) == right
            assert place == len(code) - 1
    answer = answered(desk, tmp_path / "theirs")
    for place in range(len(answer) - 1):
        other = answer[:place] + ("A" if answer[place] != "A" else "B") + answer[place + 1 :]
        with pytest.raises(MeshFileError):
            inviting.read_answer(desk, other, now=NOW)


def test_whoever_stands_between_gives_another_fingerprint(desk: Path, tmp_path: Path) -> None:
    """They read the line, and put in keys of their own on both sides."""
    invitation = inviting.read_invitation(inviting.invite(desk, SCOUT, URL), now=NOW)
    their_mesh = (PlannedMember(DESK, CLI),)
    plan = MeshPlan("zuno-ab", Engine.NATS, their_mesh, 0, URL)
    own = lay_out(plan, {DESK: tmp_path / "stranger"})
    joining, between = new_key(), new_key()
    inviting.join(tmp_path / "between", invitation, between)

    at_the_desk = inviting.fingerprint(invitation.book, between.name)
    at_theirs = inviting.fingerprint(own, joining.name)
    assert at_the_desk != at_theirs


def test_an_answer_to_another_invitation_or_after_its_time_admits_nobody(
    desk: Path, tmp_path: Path
) -> None:
    late = answered(desk, tmp_path / "late")
    with pytest.raises(MeshFileError, match="lapsed"):
        inviting.read_answer(desk, late, now=NOW + 61)
    inviting.invite(desk, inviting.Invited("scout", "scout", "Bob", "cd" * 16, SCOUT.until), URL)
    with pytest.raises(MeshFileError, match="No invitation"):
        inviting.read_answer(desk, late, now=NOW)
    with pytest.raises(MeshFileError, match="lapsed"):
        inviting.read_invitation(inviting.invite(desk, SCOUT, URL), now=NOW + 61)
    with pytest.raises(MeshFileError, match="on the mesh already"):
        inviting.invite(
            desk, inviting.Invited("critic", "critic", "Bob", "ab" * 16, SCOUT.until), URL
        )
    with pytest.raises(MeshFileError, match="holds a key already"):
        answered(desk, tmp_path / "late")


def test_who_is_revoked_is_in_no_book_here(desk: Path, tmp_path: Path) -> None:
    answer = answered(desk, tmp_path / "theirs")
    inviting.admit(desk, [tmp_path / "critic"], inviting.read_answer(desk, answer, now=NOW))
    inviting.revoke(desk, [tmp_path / "critic"], "scout")

    assert [peer.name for peer in read_book(desk).peers] == [DESK, "critic"]
    assert read_book(tmp_path / "critic") == read_book(desk)
    for name in ("scout", DESK):
        with pytest.raises(MeshFileError, match="there are: critic"):
            inviting.revoke(desk, [], name)
