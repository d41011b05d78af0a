"""`zuno mesh`: who of the mesh is visible; `init` writes one, `up` runs it on this machine."""

import re
from pathlib import Path
from typing import ClassVar

from agents.lp import ROLES
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.features import mesh
from zuno_tui.intents.intent import Argument, Intent

_LOWEST_PORT, _HIGHEST_PORT = 1024, 65_000
_MOST_CRITICS = 5


def _read_port(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is not a port, like 9600")
    if not _LOWEST_PORT <= int(text) <= _HIGHEST_PORT:
        raise ValueError(f"a port is a number from {_LOWEST_PORT} to {_HIGHEST_PORT}")
    return int(text)


def _read_count(text: str) -> int:
    if not re.fullmatch(r"[1-9]", text) or int(text) > _MOST_CRITICS:
        raise ValueError(f"{text!r} is not a number from 1 to {_MOST_CRITICS}")
    return int(text)


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_DIR = Argument("--dir", "where the members' folders are", metavar="DIR", field="dir", read=Path)


class ShowMesh(Intent, frozen=True):
    command: ClassVar = ("mesh",)


class InitMesh(Intent, frozen=True):
    command: ClassVar = ("mesh", "init")
    arguments: ClassVar = (
        Argument("--engine", "what carries the messages", choices=("axl", "nats")),
        _DIR,
        Argument(
            "--hosts",
            "which member is on which machine, like scout=10.0.0.2,critic=10.0.0.4",
            metavar="LIST",
            read=_read_list,
            write=",".join,
        ),
        Argument("--port", "the first port of the nodes", metavar="N", read=_read_port),
        Argument("--server", "the NATS server", metavar="URL"),
        Argument("--critics", "how many Critics", metavar="N", read=_read_count),
        Argument(
            "--public-peers",
            "AXL nodes of strangers to link with, comma-separated; none unless named",
            metavar="LIST",
            read=_read_list,
            write=",".join,
        ),
    )

    engine: str = "axl"
    dir: Path | None = None
    hosts: tuple[str, ...] = ()
    port: int | None = None
    server: str | None = None
    critics: int = 1
    public_peers: tuple[str, ...] = ()


class InviteAgent(Intent, frozen=True):
    command: ClassVar = ("mesh", "invite")
    arguments: ClassVar = (
        Argument("role", "which part theirs plays", choices=ROLES),
        Argument("--name", "how the mesh names it; its role unless named", metavar="NAME"),
        Argument("--owner", "whose it is, as the debate shows it", metavar="WHO"),
        Argument("--server", "the NATS server as their machine reaches it", metavar="URL"),
    )

    role: str
    name: str | None = None
    owner: str | None = None
    server: str | None = None


_CODE = Argument("code", "the code in the line that the other side sent", metavar="CODE")


class JoinMesh(Intent, frozen=True):
    command: ClassVar = ("mesh", "join")
    arguments: ClassVar = (
        _CODE,
        Argument("--dir", "the agent's own folder", metavar="DIR", field="dir", read=Path),
    )

    code: str
    dir: Path | None = None


class AdmitAgent(Intent, frozen=True):
    command: ClassVar = ("mesh", "admit")
    arguments: ClassVar = (
        _CODE,
        Argument("--same", "the fingerprint that their screen shows", metavar="LETTERS"),
    )

    code: str
    same: str | None = None


class RevokeAgent(Intent, frozen=True):
    command: ClassVar = ("mesh", "revoke")
    arguments: ClassVar = (Argument("name", "which agent, as `zuno mesh` names it"),)

    name: str


class RunMesh(Intent, frozen=True):
    command: ClassVar = ("mesh", "up")
    arguments: ClassVar = (_DIR,)

    dir: Path | None = None


COMMAND = Command(
    does="see which members of the mesh answer",
    group=Group.AGENTS,
    intent=ShowMesh,
    reaches_network=False,
    answer=lambda session, _: mesh.mesh.mesh_status(session),
    verbs=(
        Verb(
            "mesh",
            alone(ShowMesh(), "status", "all", "who", "is", "there"),
            spoken=(
                *("peers", "agents", "show mesh", "show peers", "show agents", "mesh status"),
                *("the mesh", "who is there", "where are the agents", "who are the agents"),
            ),
        ),
    ),
    suggest=always(ShowMesh()),
    subcommands=(
        Command(
            does="write the keys, the node settings and the peer file of a new mesh",
            group=Group.AGENTS,
            intent=InitMesh,
            reaches_network=False,
            run=lambda arguments: mesh.mesh.run_init(arguments),
        ),
        Command(
            does="invite another person's agent by one line to send them",
            group=Group.AGENTS,
            intent=InviteAgent,
            reaches_network=False,
            run=lambda arguments: mesh.membership.run_invite(arguments),
        ),
        Command(
            does="join another person's mesh by the line they sent",
            group=Group.AGENTS,
            intent=JoinMesh,
            reaches_network=False,
            run=lambda arguments: mesh.membership.run_join(arguments),
        ),
        Command(
            does="admit the agent that answered an invitation, once the fingerprint is compared",
            group=Group.AGENTS,
            intent=AdmitAgent,
            reaches_network=False,
            run=lambda arguments: mesh.membership.run_admit(arguments),
        ),
        Command(
            does="take an agent off the mesh: nothing it says is heard any more",
            group=Group.AGENTS,
            intent=RevokeAgent,
            reaches_network=False,
            run=lambda arguments: mesh.membership.run_revoke(arguments),
        ),
        Command(
            does="run the nodes and agents of the mesh on this machine, and keep them running",
            group=Group.AGENTS,
            intent=RunMesh,
            reaches_network=False,
            run=lambda arguments: mesh.mesh.run_up(arguments),
        ),
    ),
)
