"""A mesh of one's own: its keys and files, its processes, and who answers."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from agents.bus.envelope import CLI
from agents.bus.record import running_versions
from agents.bus.replay import version_words
from agents.lp.debate import LP_FLOW
from agents.lp.payloads import CRITIC
from agents.mesh.endpoint import MeshEndpoint, PeerSight
from agents.mesh.joining import join_mesh
from agents.mesh.layout import DESK, NODE_FILE, MeshPlan, checked_hosts, lay_out, planned_members
from agents.mesh.peers import (
    MEMBER_FILE,
    Engine,
    Member,
    MeshFileError,
    Peer,
    PeerBook,
    read_book,
    read_member,
)
from agents.mesh.supervising import Program, bare_environment, supervise
from chain.base.clean_text import clean_text
from chain.base.home import Home, locked_if_free, write_atomically
from chain.base.own_program import own_program
from zuno_tui.app.demo_place import EMBEDDED_NETWORK, running_demo
from zuno_tui.app.session import Session, say
from zuno_tui.features.mesh.remote_agents import DESK_LOCK, mesh_folder
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import Json

_AGENT = """\
# The {name} of a mesh. On one machine, or on a machine of its own:
#   sudo useradd --system zuno-{name}; sudo chown -R zuno-{name} {folder}
#   sudo cp {unit} /etc/systemd/system/ && sudo systemctl enable --now {unit}
# A model's key belongs into agent.env in its folder (chmod 600), not into this file.

[Unit]
Description=zuno plays {role} for desks on the mesh
Wants=network-online.target
After=network-online.target{after}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
User=zuno-{name}
ExecStart={python} -P -m zuno_tui agent {role} --home {folder}
EnvironmentFile=-{folder}/agent.env
Environment=HOME={folder}
Restart=always
RestartSec=2
UMask=0077
{hardening}BindPaths={folder}
BindReadOnlyPaths={prefix}

[Install]
WantedBy=multi-user.target
"""
_NODE = """\
# The AXL node of {name}, for {place}.
# Put the node's program where ExecStart says, or change that line.

[Unit]
Description=AXL node of zuno's {name}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/axl-node -config {folder}/{config}
Restart=always
RestartSec=2
UMask=0077
{limits}
[Install]
WantedBy={target}
"""
_FOR_THE_OWNER = "~/.config/systemd/user of the desk's owner"
_FOR_THE_MACHINE = "/etc/systemd/system"
_HARDENING = """\
NoNewPrivileges=yes
ProtectHome=tmpfs
ProtectSystem=strict
PrivateTmp=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
"""


def unit_files(plan: MeshPlan, folders: Mapping[str, Path]) -> dict[str, str]:
    """By file name; a machine of its own takes those of its member."""
    files: dict[str, str] = {}
    for member in plan.members:
        folder = _path(folders[member.name])
        node = f"zuno-node-{member.name}.service"
        if plan.engine is Engine.AXL:
            # The desk's node has its key in the desk's home, and so runs as the desk's owner.
            own = member.name == DESK
            files[node] = _NODE.format(
                name=member.name,
                folder=folder,
                config=NODE_FILE,
                place=_FOR_THE_OWNER if own else _FOR_THE_MACHINE,
                limits="" if own else f"User=zuno-{member.name}\n{_HARDENING}BindPaths={folder}\n",
                target="default.target" if own else "multi-user.target",
            )
        if member.role != CLI:
            unit = f"zuno-agent-{member.name}.service"
            files[unit] = _AGENT.format(
                name=member.name,
                role=member.role,
                folder=folder,
                unit=unit,
                after=f" {node}" if plan.engine is Engine.AXL else "",
                python=_path(sys.executable),
                hardening=_HARDENING,
                prefix=_path(sys.prefix),
            )
    return files


def _path(path: Path | str) -> str:
    """As a unit takes it; systemd reads % by itself."""
    return str(path).replace("%", "%%").replace(" ", "\\x20")


DEFAULT_PORT = 9600
NATS_URL = "nats://127.0.0.1:4222"
UNITS = "systemd"
_MEMBERS_FILE = "members-folder"
"""In the desk's folder: where the others' folders were put."""


def members_folder(home: Home, chosen: Path | None) -> Path:
    """As named now or when the mesh was made; beside the desk's home, never inside.

    An agent has no business there.
    """
    noted = mesh_folder(home) / _MEMBERS_FILE
    if chosen is None and noted.exists():
        chosen = Path(noted.read_text("utf-8").strip())
    folder = (chosen or home.root.with_name(f"{home.root.name}-mesh")).expanduser().absolute()
    if folder.is_relative_to(home.root):
        raise MeshFileError(
            f"{folder} is inside the desk's home, which no agent may see. Name another: --dir DIR"
        )
    return folder


def run_init(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    home.prepare()
    folder = members_folder(home, arguments.dir)
    members = planned_members(
        LP_FLOW.handlers, checked_hosts(arguments.hosts), critics=arguments.critics, critic=CRITIC
    )
    plan = MeshPlan(
        mesh="zuno",
        engine=Engine(arguments.engine),
        members=members,
        port=arguments.port or DEFAULT_PORT,
        server=arguments.server or NATS_URL,
        public_peers=arguments.public_peers,
    )
    folders = {member.name: folder / member.name for member in members}
    folders[DESK] = mesh_folder(home)
    book = lay_out(plan, folders)
    write_atomically(folders[DESK] / _MEMBERS_FILE, f"{folder}\n".encode())
    for name, text in unit_files(plan, folders).items():
        write_atomically(folder / UNITS / name, text.encode())
    return print_answer(_answer(plan, book, folder, folders[DESK]), as_json=bool(arguments.json))


def _answer(plan: MeshPlan, book: PeerBook, folder: Path, desk: Path) -> CommandAnswer:
    elsewhere = sorted({member.host for member in plan.members} - {"127.0.0.1"})
    moving = (
        f"Copy each member's folder to its machine ({', '.join(elsewhere)}), and delete it here."
        if elsewhere
        else "Run them all: zuno mesh up"
    )
    lines = [
        f"A mesh of {len(book.peers)} over {plan.engine}: {folder}",
        *(f"  {peer.name:12} {peer.role:11} {peer.key}" for peer in book.peers),
        f"The desk's own key is in {desk}.",
        moving,
        *_engine_words(plan.engine),
    ]
    told: Json = {
        "engine": str(plan.engine),
        "folder": str(folder),
        "desk": str(desk),
        "peers": [document(peer) for peer in book.peers],
    }
    return CommandAnswer(tuple(lines), told, code=DONE)


def _engine_words(engine: Engine) -> tuple[str, ...]:
    if engine is Engine.AXL and not os.environ.get("ZUNO_AXL_NODE"):
        return ("An AXL node is a program of its own: name it in ZUNO_AXL_NODE.",)
    if engine is Engine.NATS and shutil.which("nats-server") is None:
        return (f"A NATS server must run, with JetStream. {_install()}",)
    return ()


def _install() -> str:
    return f'The client is an extra: {Path(sys.executable).name} -m pip install "zuno-tui[mesh]"'


_SECONDS = 3.0
_GREETINGS = 5
_PAUSE = 0.1
_ANSWER_SECONDS = 2.0


async def mesh_status(session: Session) -> CommandAnswer:
    folder = mesh_folder(session.home)
    if not (folder / "member.json").exists():
        return CommandAnswer(
            (
                "No mesh is set up: the agents run in this process.",
                "To run them as programs of their own: zuno mesh init",
            ),
            {"engine": None, "peers": []},
            code=DONE,
        )
    with locked_if_free(folder / DESK_LOCK) as free:
        if not free:
            return CommandAnswer(
                ("A debate of this home is on the mesh just now. Ask again when it is over.",),
                {"engine": None, "peers": [], "busy": True},
                code=FAILED,
            )
        endpoint, me, member = join_mesh(folder, running_versions(LP_FLOW.package))
        async with endpoint:
            others = tuple(peer for peer in endpoint.book.peers if peer != me)
            await _look(endpoint, others)
            return _status_answer(endpoint, member, tuple(endpoint.sight(peer) for peer in others))


async def _look(endpoint: MeshEndpoint, peers: tuple[Peer, ...]) -> None:
    """Greet everybody some times, so that one lost answer is not taken for nobody there."""
    met = await endpoint.meet(peers, _SECONDS)
    for _ in range(_GREETINGS):
        for peer in met:
            endpoint.greet(peer)
        await asyncio.sleep(_PAUSE)
    await endpoint.wait_for_answers(met, _ANSWER_SECONDS)


def _status_answer(
    endpoint: MeshEndpoint, member: Member, sights: tuple[PeerSight, ...]
) -> CommandAnswer:
    there = sum(sight.visible for sight in sights)
    lines = [
        f"Over {member.engine}: {there} of {len(sights)} peers answer.",
        *(_line(sight, endpoint.versions) for sight in sights),
    ]
    if endpoint.trouble:
        lines.append(endpoint.trouble)
    dropped = {str(cause): count for cause, count in endpoint.dropped.items()}
    if dropped:
        causes = ", ".join(f"{count} {cause}" for cause, count in sorted(dropped.items()))
        lines.append(f"Dropped: {causes}.")
    told: Json = {
        "engine": str(member.engine),
        "trouble": endpoint.trouble or None,
        "dropped": {**dropped},
        "versions": {**endpoint.versions},
        "peers": [_document(sight, endpoint.versions) for sight in sights],
    }
    return CommandAnswer(tuple(lines), told, code=DONE if there else NETWORK)


def _line(sight: PeerSight, ours: dict[str, str]) -> str:
    peer = sight.peer
    owner = f"of {clean_text(peer.owner, limit=32)}, " if peer.owner else ""
    start = f"  {peer.name:12} {peer.key[:8]}  {owner}"
    if not sight.visible:
        return f"{start}does not answer"
    if sight.introduction.versions != ours:
        theirs = version_words(sight.introduction.versions)
        return f"{start}runs {theirs}, this is {version_words(ours)}"
    trip = "unknown" if sight.round_trip is None else f"{sight.round_trip * 1000:.0f} ms"
    model = f", asks {sight.introduction.asks}" if sight.introduction.asks else ""
    return f"{start}round trip {trip}, {sight.lost:.0%} lost{model}"


def _document(sight: PeerSight, ours: dict[str, str]) -> Json:
    same = sight.introduction.versions == ours if sight.visible else None
    return {**document(sight.peer), **document(sight, "visible", without=("peer",)), "same": same}


LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CONNECT_SECONDS = 1.0


def run_up(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    desk = mesh_folder(home)
    folder = members_folder(home, arguments.dir)
    told = {"ZUNO_NETWORK": arguments.network, "ZUNO_RPC": arguments.rpc}
    demo = None if any(told.values()) else running_demo(home)
    if demo is not None:
        say(demo.words)
        told = {"ZUNO_NETWORK": EMBEDDED_NETWORK, "ZUNO_RPC": demo.url}
    # By the environment: an endpoint's key does not belong into a list of processes.
    extra = {name: value for name, value in told.items() if value}
    programs = tuple(_programs(desk, folder, {**os.environ, **extra}, extra))
    if not any(program.name.startswith("agent ") for program in programs):
        raise MeshFileError(f"No agent's folder is in {folder}. Say where they are: --dir DIR")
    return asyncio.run(_up(programs))


async def _up(programs: tuple[Program, ...]) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await supervise(programs, stop, say)
    return DONE


def _programs(
    desk: Path, folder: Path, environment: dict[str, str], extra: dict[str, str]
) -> Iterator[Program]:
    member, book = read_member(desk), read_book(desk)
    homes = {
        peer.name: desk if peer.role == CLI else folder / peer.name
        for peer in book.peers
        if peer.key == _own_key(desk, book) or (folder / peer.name / MEMBER_FILE).exists()
    }
    if member.engine is Engine.AXL:
        yield from _nodes(homes, environment)
    else:
        yield from _server(member, folder, environment)
    for peer in book.peers:
        if peer.role != CLI and peer.name in homes:
            place = homes[peer.name]
            command = tuple(own_program("zuno_tui", "agent", peer.role, "--home", str(place)))
            told = {**bare_environment(environment, place), **extra}
            yield Program(f"agent {peer.name}", command, place, "agent.log", told)


def _own_key(desk: Path, book: PeerBook) -> str:
    named = book.find(read_member(desk).name)
    return "" if named is None else named.key


def _nodes(homes: dict[str, Path], environment: dict[str, str]) -> Iterator[Program]:
    program = environment.get("ZUNO_AXL_NODE", "")
    if not program:
        raise MeshFileError(
            "An AXL node is a program of its own. Name it in ZUNO_AXL_NODE, or take NATS: "
            "zuno mesh init --engine nats"
        )
    for name, place in homes.items():
        command = (*program.split(), "-config", str(place / NODE_FILE))
        told = bare_environment(environment, place)
        yield Program(f"node {name}", command, place, "node.log", told)


def _server(member: Member, folder: Path, environment: dict[str, str]) -> Iterator[Program]:
    """A server on this machine, where none listens yet and its program is there."""
    place = urlsplit(member.url)
    host, port = place.hostname or "", place.port or 4222
    if host not in LOOPBACK or _listens(host, port):
        return
    built = Home.locate(environment).cache / "bin" / "nats-server"
    program = environment.get("ZUNO_NATS_SERVER") or shutil.which("nats-server")
    program = program or (str(built) if built.exists() else None)
    if program is None:
        raise MeshFileError(
            f"Nothing listens at {host}:{port}, and no nats-server is installed. Install it, or "
            "name one that runs: zuno mesh init --engine nats --server URL"
        )
    store = folder / "nats"
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = (program, "-a", host, "-p", str(port), "-js", "-sd", str(store))
    told = bare_environment(environment, store)
    yield Program("nats-server", command, store, "server.log", told)


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _CONNECT_SECONDS):
            return True
    except OSError:
        return False
