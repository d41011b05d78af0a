"""Who plays which role: one for each, a second of another owner, and why somebody is missing."""

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from agents.bus.envelope import CLI, Role
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.frame import new_key, write_key
from agents.mesh.gathering import gather_roles
from agents.mesh.joining import join_mesh
from agents.mesh.peers import KEY_FILE, MEMBER_FILE, PEER_FILE, MeshFileError, Peer, PeerBook
from agents.mesh.transport import AgentTransport
from tests.agents.mesh.test_agent_transport import copy
from tests.fakes.small_debate import REGISTRY, SCOUT

CRITIC, STRATEGIST = Role("critic"), Role("strategist")
OURS, OTHER = {"zuno": "1"}, {"zuno": "2"}


def _peer(number: int, name: str, role: Role, owner: str = "") -> Peer:
    return Peer(name, role, f"{number:064x}", None, owner)


DESK = _peer(1, "desk", CLI)
FIRST = _peer(2, "critic", CRITIC)
SAME_OWNER = _peer(3, "critic-2", CRITIC)
OTHER_OWNER = _peer(4, "critic-3", CRITIC, "owner-3")
ANOTHER_ROLE = _peer(5, "scout", SCOUT, "owner-3")


class _Met:
    """An endpoint that meets these, each of a version."""

    versions = OURS

    def __init__(self, peers: Iterable[Peer], of_another_version: Iterable[Peer] = ()) -> None:
        self.book = PeerBook("zuno", (DESK, *peers))
        self._other = tuple(of_another_version)
        self.asked: tuple[Peer, ...] = ()
        self.seconds = 0.0

    async def meet(self, peers: tuple[Peer, ...], seconds: float) -> tuple[Peer, ...]:
        self.asked, self.seconds = peers, seconds
        return peers

    def versions_of(self, peer: Peer) -> dict[str, str]:
        return OTHER if peer in self._other else OURS

    @property
    def endpoint(self) -> MeshEndpoint:
        return cast("MeshEndpoint", self)


async def test_the_second_is_of_the_role_and_of_another_owner() -> None:
    met = _Met((ANOTHER_ROLE, FIRST, SAME_OWNER, OTHER_OWNER))

    found = await gather_roles(met.endpoint, (CLI, SCOUT, CRITIC), twice=CRITIC)

    assert found.routes == {SCOUT: ANOTHER_ROLE, CRITIC: FIRST}
    assert found.second == OTHER_OWNER
    assert found.missing == ()
    assert DESK not in met.asked
    assert met.seconds == 4.0
    await gather_roles(met.endpoint, (CRITIC,), seconds=9.0)
    assert met.seconds == 9.0
    alone = await gather_roles(_Met((FIRST, SAME_OWNER)).endpoint, (CRITIC,), twice=CRITIC)
    assert (alone.routes, alone.second) == ({CRITIC: FIRST}, None)
    assert (await gather_roles(met.endpoint, (CRITIC,))).second is None


async def test_who_is_of_another_version_plays_nothing_and_is_named() -> None:
    met = _Met((FIRST, OTHER_OWNER), of_another_version=(FIRST,))

    found = await gather_roles(met.endpoint, (CRITIC, STRATEGIST))

    assert found.routes == {CRITIC: OTHER_OWNER}
    assert (found.here, found.missing) == ((STRATEGIST,), ())
    none = await gather_roles(_Met((FIRST,), of_another_version=(FIRST,)).endpoint, (CRITIC,))
    assert none.routes == {}
    assert none.reason.startswith("critic runs ")


async def test_an_agent_says_nothing_about_a_request_it_was_never_given() -> None:
    class Silent:
        on_frame = on_boot = None

    agent = AgentTransport(cast("MeshEndpoint", Silent()), REGISTRY, SCOUT, clock=lambda: 0.0)

    assert not await agent.send(copy(SCOUT, 0, 0).envelope, droppable=False)


def test_a_folder_whose_peer_file_does_not_name_its_key_joins_no_mesh(tmp_path: Path) -> None:
    desk, scout = new_key(), new_key()
    book = PeerBook("zuno", (Peer("desk", CLI, desk.name), Peer("scout", SCOUT, scout.name)))
    (tmp_path / PEER_FILE).write_bytes(msgspec.json.encode(book))
    member = {"name": "scout", "engine": "nats", "url": "nats://127.0.0.1:1"}
    (tmp_path / MEMBER_FILE).write_bytes(msgspec.json.encode(member))
    write_key(tmp_path / KEY_FILE, scout)
    endpoint, me, read = join_mesh(tmp_path, OURS, asks="a model")
    assert (endpoint.me, me.name, read.url) == (scout.name, "scout", member["url"])
    assert endpoint.versions == OURS
    (tmp_path / KEY_FILE).unlink()
    write_key(tmp_path / KEY_FILE, new_key())
    with pytest.raises(MeshFileError, match="Copy the peer file"):
        join_mesh(tmp_path, OURS)
