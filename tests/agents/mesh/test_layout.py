"""A mesh as files: who fits into one, whom each node dials, and what is never written over."""

import json
from pathlib import Path

import pytest

from agents.bus.envelope import CLI, Role
from agents.mesh.layout import (
    DESK,
    LOOPBACK,
    MOST_MEMBERS,
    MeshPlan,
    PlannedMember,
    checked_hosts,
    lay_out,
    node_config,
    planned_members,
)
from agents.mesh.peers import KEY_FILE, Engine, MeshFileError, read_book, read_member

SCOUT, CRITIC = Role("scout"), Role("critic")
PORT = 9600


def _plan(count: int, engine: Engine = Engine.AXL) -> MeshPlan:
    agents = (PlannedMember(f"scout-{number}", SCOUT) for number in range(1, count))
    return MeshPlan("zuno", engine, (PlannedMember(DESK, CLI), *agents), PORT)


def _folders(plan: MeshPlan, root: Path) -> dict[str, Path]:
    return {member.name: root / member.name for member in plan.members}


def test_as_many_fit_as_there_are_ports_between_the_two_kinds(tmp_path: Path) -> None:
    whole, one_more = _plan(MOST_MEMBERS), _plan(MOST_MEMBERS + 1)

    with pytest.raises(MeshFileError, match=f"at most {MOST_MEMBERS} members"):
        lay_out(one_more, _folders(one_more, tmp_path))
    assert not any(tmp_path.iterdir())
    book = lay_out(whole, _folders(whole, tmp_path))

    nodes = [json.loads((tmp_path / peer.name / "node.json").read_text()) for peer in book.peers]
    listened = [int(node["Listen"][0].rpartition(":")[2]) for node in nodes]
    asked = [node["api_port"] for node in nodes]
    assert {node["tcp_port"] for node in nodes} == {7000}
    assert asked == list(range(PORT, PORT + MOST_MEMBERS))
    assert not set(asked) & set(listened)
    assert listened == list(range(PORT + 40, PORT + 80))
    assert len(set(listened)) == MOST_MEMBERS


def test_each_node_dials_those_before_it_and_strangers_only_where_asked(tmp_path: Path) -> None:
    hosts = {DESK: "10.0.0.1", "critic": "fd00::2"}
    members = planned_members((SCOUT, CRITIC), hosts, critics=2, critic=CRITIC)
    plan = MeshPlan("zuno", Engine.AXL, members, PORT, public_peers=("tls://far.example:1",))

    last = node_config(plan, 3, tmp_path / "node.pem")

    assert [member.name for member in members] == [DESK, "scout", "critic", "critic-2"]
    assert [member.owner for member in members] == ["", "", "", "owner-2"]
    assert last["Peers"] == [
        f"tls://10.0.0.1:{PORT + MOST_MEMBERS}",
        f"tls://{LOOPBACK}:{PORT + MOST_MEMBERS + 1}",
        f"tls://[fd00::2]:{PORT + MOST_MEMBERS + 2}",
        "tls://far.example:1",
    ]
    assert last["bridge_addr"] == LOOPBACK
    assert node_config(_plan(2), 0, tmp_path)["Peers"] == []


def test_a_folder_that_holds_a_key_is_left_as_it_is(tmp_path: Path) -> None:
    plan = _plan(2, Engine.NATS)
    folders = _folders(plan, tmp_path)
    lay_out(plan, folders)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    with pytest.raises(MeshFileError, match="holds a key already"):
        lay_out(plan, folders)

    assert {path: path.read_bytes() for path in before} == before
    assert {path.name for path in folders[DESK].iterdir()} == {
        KEY_FILE,
        "member.json",
        "peers.json",
    }
    assert (folders["scout-1"] / "settings.toml").exists()
    assert read_member(folders[DESK]).url == plan.server
    assert read_book(folders[DESK]) == read_book(folders["scout-1"])
    # Of the first form, which is not written, so that every version reads it.
    assert read_book(folders[DESK]).version == read_member(folders[DESK]).version == 1
    assert not any(b'"version"' in data for data in before.values())
    assert {path.stat().st_mode & 0o777 for path in folders.values()} == {0o700}


@pytest.mark.parametrize("pair", ["scout", "=10.0.0.2", "scout=", "scout=a b", "scout=host:1"])
def test_a_machine_that_is_none_is_refused(pair: str) -> None:
    with pytest.raises(MeshFileError, match="names no machine"):
        checked_hosts([pair])


def test_machines_are_those_of_members() -> None:
    assert checked_hosts(["scout=10.0.0.2", "desk=Host"]) == {"scout": "10.0.0.2", "desk": "Host"}
    with pytest.raises(MeshFileError, match="no member 'nobody'; there are desk, scout"):
        planned_members((SCOUT,), {"nobody": "10.0.0.2"}, critics=1, critic=CRITIC)
