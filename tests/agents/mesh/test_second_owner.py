"""Two homes, two owners: a Scout joins by the lines alone, and is heard until it is revoked."""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

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
