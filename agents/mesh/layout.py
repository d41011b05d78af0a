"""A new mesh as files: a folder for each member, with its keys, the peer file and its node."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agents.bus.envelope import CLI, Role
from agents.mesh import peers
from agents.mesh.frame import PeerSigningKey, new_key, write_key
from chain.base.home import write_atomically

DESK = "desk"
NODE_KEY_FILE = "node.pem"
NODE_FILE = "node.json"
SETTINGS_FILE = "settings.toml"
LOOPBACK = "127.0.0.1"
TCP_PORT = 7000
"""Every node of a mesh dials the others on its own, so all have the same."""
_LISTEN_OFFSET = 40
MOST_MEMBERS = _LISTEN_OFFSET
_SETTINGS = """\
# Of this agent alone. It never needs a wallet: no key and no address belong here.
# network = "base"
# [rpc]
# base = "https://…"
# [model]
# provider = "openai"
# key = "env:OPENAI_API_KEY"
"""


class PlannedMember(Struct, frozen=True):
    name: str
    role: Role
    host: str = LOOPBACK
    """Where the others reach its node."""
    owner: str = ""


class MeshPlan(Struct, frozen=True):
    mesh: str
    engine: peers.Engine
    members: tuple[PlannedMember, ...]
    """The desk first."""
    port: int
    """The first of the ports that nodes use."""
    server: str = "nats://127.0.0.1:4222"
    public_peers: tuple[str, ...] = ()
    """Nodes of strangers, only where somebody asked for them."""


def planned_members(
    roles: Iterable[Role], hosts: Mapping[str, str], *, critics: int, critic: Role
) -> tuple[PlannedMember, ...]:
    """The desk and an agent for each role; of one of them several, each as of its own owner."""
    members = [PlannedMember(DESK, CLI, hosts.get(DESK, LOOPBACK))]
    for role in roles:
        for number in range(critics if role == critic else 1):
            name = str(role) if number == 0 else f"{role}-{number + 1}"
            owner = "" if number == 0 else f"owner-{number + 1}"
            members.append(PlannedMember(name, role, hosts.get(name, LOOPBACK), owner))
    unknown = set(hosts) - {member.name for member in members}
    if unknown:
        known = ", ".join(member.name for member in members)
        raise peers.MeshFileError(f"There is no member {min(unknown)!r}; there are {known}.")
    return tuple(members)


def lay_out(plan: MeshPlan, folders: Mapping[str, Path]) -> peers.PeerBook:
    """Write every member's folder; where one holds a key already, nothing is written."""
    if len(plan.members) > MOST_MEMBERS:
        raise peers.MeshFileError(f"A mesh has at most {MOST_MEMBERS} members.")
    for member in plan.members:
        if (folders[member.name] / peers.KEY_FILE).exists():
            raise peers.MeshFileError(
                f"{folders[member.name]} holds a key already. Move it away, or name another folder."
            )
    keys = {member.name: new_key() for member in plan.members}
    nodes = {member.name: new_key() for member in plan.members}
    is_axl = plan.engine is peers.Engine.AXL
    book = peers.checked_book(
        peers.PeerBook(
            plan.mesh,
            tuple(
                peers.Peer(
                    member.name,
                    member.role,
                    keys[member.name].name,
                    nodes[member.name].name if is_axl else None,
                    member.owner,
                )
                for member in plan.members
            ),
        )
    )
    for index, member in enumerate(plan.members):
        folder = folders[member.name]
        url = f"http://{LOOPBACK}:{plan.port + index}" if is_axl else plan.server
        own = peers.Member(member.name, plan.engine, url)
        write_member(folder, keys[member.name], own, book, takes_settings=member.role != CLI)
        if is_axl:
            write_key(folder / NODE_KEY_FILE, nodes[member.name])
            write_document(folder / NODE_FILE, node_config(plan, index, folder / NODE_KEY_FILE))
    return book


def write_member(
    folder: Path,
    key: PeerSigningKey,
    member: peers.Member,
    book: peers.PeerBook,
    *,
    takes_settings: bool = True,
) -> None:
    write_key(folder / peers.KEY_FILE, key)
    write_document(folder / peers.MEMBER_FILE, member)
    write_document(folder / peers.PEER_FILE, book)
    if takes_settings and not (folder / SETTINGS_FILE).exists():
        write_atomically(folder / SETTINGS_FILE, _SETTINGS.encode())


def node_config(plan: MeshPlan, index: int, key: Path) -> dict[str, object]:
    """As an AXL node reads it: its links are those of this mesh, and of nobody else unasked."""
    mine = plan.members[index]
    earlier = [
        f"tls://{_bracketed(member.host)}:{_listens_at(plan, place)}"
        for place, member in enumerate(plan.members[:index])
    ]
    return {
        "PrivateKeyPath": str(key),
        "Peers": [*earlier, *plan.public_peers],
        "Listen": [f"tls://{_bracketed(mine.host)}:{_listens_at(plan, index)}"],
        "api_port": plan.port + index,
        "bridge_addr": LOOPBACK,
        "tcp_port": TCP_PORT,
    }


def checked_hosts(pairs: Sequence[str]) -> dict[str, str]:
    """`scout=10.0.0.2` and the like, by member."""
    hosts = {}
    for pair in pairs:
        name, mark, host = pair.partition("=")
        if not mark or not name or not _is_host(host):
            raise peers.MeshFileError(f"{pair!r} names no machine. Write it like: scout=10.0.0.2")
        hosts[name] = host
    return hosts


def _is_host(text: str) -> bool:
    try:
        named = urlsplit(f"//{_bracketed(text)}").hostname
    except ValueError:
        return False
    return named == text.lower() and not any(letter.isspace() for letter in text)


def _listens_at(plan: MeshPlan, index: int) -> int:
    return plan.port + _LISTEN_OFFSET + index


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def write_document(path: Path, document: object) -> None:
    write_atomically(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
