"""Invitations: one line there, one back, one fingerprint; whatever was changed is refused."""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.bus.envelope import CLI, Role
from agents.mesh import inviting
from agents.mesh.frame import new_key
from agents.mesh.layout import DESK, MeshPlan, PlannedMember, lay_out, write_document
from agents.mesh.peers import Engine, MeshFileError, read_book, read_member
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.agents.conftest import positions_by_state
from tests.agents.mesh.processes import (
    free_ports,
    hold,
    is_listening,
    nats_program,
    session_on,
    terminate,
)
from tests.fork_server import ForkedProcess, fork_server
from tests.waiting import wait_until
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED

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
    whole = inviting.read_invitation(code, now=NOW)
    for place in range(len(code)):
        other = code[:place] + ("A" if code[place] != "A" else "B") + code[place + 1 :]
        with suppress(MeshFileError):
            # Some bits stand for nothing: of the last letter, and where the packing ends.
            assert inviting.read_invitation(other, now=NOW) == whole
    answer = answered(desk, tmp_path / "theirs")
    told = inviting.read_answer(desk, answer, now=NOW)
    for place in range(len(answer)):
        other = answer[:place] + ("A" if answer[place] != "A" else "B") + answer[place + 1 :]
        with suppress(MeshFileError):
            assert inviting.read_answer(desk, other, now=NOW) == told


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


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(
        nats_program() is None,
        reason="no nats-server: make nats-server, or apt install nats-server",
    ),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    program = nats_program()
    assert program is not None
    [port] = free_ports(1)
    place = ("-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(tmp_path / "nats"))
    quiet = subprocess.DEVNULL
    with subprocess.Popen([program, *place], stdout=quiet, stderr=quiet) as running:
        wait_until(lambda: is_listening(port), "nats-server")
        yield f"nats://127.0.0.1:{port}"
        running.terminate()


class Shell:
    """One person's command line, with a home of their own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self._capture = home, capture

    def __call__(self, *words: str) -> tuple[int, str]:
        self._capture.readouterr()
        code = main([*words, "--home", str(self.home)])
        told = self._capture.readouterr()
        return code, told.out + told.err


def line_in(words: str, begins: str) -> list[str]:
    """A line to type, as it stands on the screen."""
    [found] = re.findall(rf"^(?:.*: )?zuno ({begins} .*)$", words, re.MULTILINE)
    return str(found).split()


def started(line: list[str], log: Path, devnet: DevnetReady) -> ForkedProcess:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(log.parent),
        "ZUNO_RPC": devnet.url,
        "ZUNO_NETWORK": "devnet",
        "ZUNO_DETERMINISTIC": "true",
    }
    with Path(os.devnull).open() as nothing, log.open("ab") as writing:
        files = [nothing.fileno(), writing.fileno(), writing.fileno()]
        return fork_server().start("zuno_tui", *line, environment=environment, files=files)


async def test_a_second_owner_joins_by_the_lines_is_heard_and_revoked(
    server: str,
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 40.0)
    ours, theirs = Shell(tmp_path / "ours", capsys), Shell(tmp_path / "theirs", capsys)
    code, invited = ours("mesh", "invite", "scout", "--owner", "Bob", "--server", server)
    assert code == DONE, invited
    folder = tmp_path / "bob"
    _, joined = theirs(*line_in(invited, "mesh join"), "--dir", str(folder))
    _, asked = ours(*line_in(joined, "mesh admit"))
    [letters] = re.findall(r"by voice: (\S+)", joined)
    answering = line_in(joined, "mesh admit")
    wrong = ours(*answering, "--same", "0000-1111-2222-3333")
    _, admitted = ours(*answering, "--same", letters)

    assert letters in asked
    assert f"--same {letters}" not in asked, "it is compared, not copied"
    assert (wrong[0], "Nobody was admitted" in wrong[1]) == (FAILED, True)
    assert "scout (Bob) is admitted" in admitted, admitted

    log = tmp_path / "bob.log"
    bob = started(line_in(joined, "agent scout"), log, devnet)
    wait_until(lambda: '"event":"ready"' in log.read_text(), log.read_text)
    session = session_on(Home(ours.home, tmp_path / "cache"), devnet)
    alone = Home(tmp_path / "alone", tmp_path / "cache")
    alone.prepare()
    token_id = min(positions_by_state(devnet.url).values())
    there = await hold(session, token_id, "mesh", "there")
    here = await hold(session_on(alone, devnet), token_id, "local", "here")
    _, revoked = ours("mesh", "revoke", "scout")
    after = await hold(session, token_id, "auto", "after")
    assert terminate(bob) == 0

    [places] = there.places
    assert dict(places.peers).keys() == {"scout"}
    assert places.peers["scout"].endswith(" of Bob")
    assert places.words.endswith("strategist, critic, arbiter in this process")
    assert there.plan_bytes == here.plan_bytes
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["says"] for line in logged if line["event"] == "sent" and "says" in line} == {
        turn.thought.text for turn in there.debated.ended.transcript if turn.role == "scout"
    }
    assert "is off the mesh" in revoked
    assert after.places[0].peers == {}
    assert after.failure is None


def test_an_invitation_needs_a_server_that_the_other_machine_reaches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = Shell(tmp_path / "ours", capsys)
    bare = ours("mesh", "invite", "scout")
    axl = Shell(tmp_path / "axl", capsys)
    axl("mesh", "init", "--dir", str(tmp_path / "members"))
    over_axl = axl("mesh", "invite", "scout", "--server", "nats://10.0.0.1:4222")
    local = Shell(tmp_path / "local", capsys)
    local("mesh", "init", "--engine", "nats", "--dir", str(tmp_path / "others"))
    only_here = local("mesh", "invite", "critic", "--name", "second")
    strange = ours("mesh", "invite", "scout", "--server", f"http://{socket.gethostname()}")

    for (code, words), part in (
        (bare, "There is no mesh yet"),
        (over_axl, "Invitations need NATS"),
        (only_here, "an address that only it reaches"),
        (strange, "is no NATS server"),
    ):
        assert (code, part in words) == (FAILED, True), words
