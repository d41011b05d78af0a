"""`zuno mesh up`: the nodes and agents of this machine, kept running until Ctrl+C."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agents.bus.envelope import CLI
from agents.mesh.layout import NODE_FILE
from agents.mesh.peers import (
    MEMBER_FILE,
    Engine,
    Member,
    MeshFileError,
    PeerBook,
    read_book,
    read_member,
)
from agents.mesh.supervising import Program, bare_environment, supervise
from chain.base.home import Home
from zuno_tui.app.agents_elsewhere import mesh_folder
from zuno_tui.app.mesh_init import members_folder
from zuno_tui.app.session import say
from zuno_tui.present.exit_codes import DONE

if TYPE_CHECKING:
    from argparse import Namespace


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CONNECT_SECONDS = 1.0


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    desk = mesh_folder(home)
    folder = members_folder(home, arguments.dir)
    told = {"ZUNO_NETWORK": arguments.network, "ZUNO_RPC": arguments.rpc}
    # By the environment: an endpoint's key does not belong into a list of processes.
    extra = {name: value for name, value in told.items() if value}
    programs = tuple(_programs(desk, folder, {**os.environ, **extra}, extra))
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
            command = (sys.executable, "-m", "zuno_tui", "agent", peer.role, "--home", str(place))
            told = {**bare_environment(environment, place), **extra}
            yield Program(f"agent {peer.name}", command, place, "agent.log", told)


def _own_key(desk: Path, book: PeerBook) -> str:
    named = book.named(read_member(desk).name)
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
    if host not in _LOOPBACK or _listens(host, port):
        return
    program = environment.get("ZUNO_NATS_SERVER") or shutil.which("nats-server")
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
