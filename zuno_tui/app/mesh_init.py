"""`zuno mesh init`: a folder for every member, the desk's in its home, and units for systemd."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agents.bus.envelope import CLI
from agents.lp.debate import LP_FLOW
from agents.lp.payloads import CRITIC
from agents.mesh.layout import DESK, NODE_FILE, MeshPlan, checked_hosts, lay_out, planned_members
from agents.mesh.peers import Engine, MeshFileError, PeerBook
from chain.base.home import Home, write_atomically
from zuno_tui.app.agents_elsewhere import mesh_folder
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.exit_codes import DONE

if TYPE_CHECKING:
    from argparse import Namespace

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
ExecStart={python} -m zuno_tui agent {role} --home {folder}
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


def members_folder(home: Home, chosen: Path | None) -> Path:
    """Beside the desk's home, never inside: an agent has no business there."""
    folder = (chosen or home.root.with_name(f"{home.root.name}-mesh")).expanduser().absolute()
    if folder.is_relative_to(home.root):
        raise MeshFileError(
            f"{folder} is inside the desk's home, which no agent may see. Name another: --dir DIR"
        )
    return folder


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    home.prepare()
    folder = members_folder(home, arguments.dir)
    members = planned_members(
        LP_FLOW.handlers,
        checked_hosts(arguments.hosts),
        critics=arguments.critics,
        critic=CRITIC,
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
    document: Json = {
        "engine": str(plan.engine),
        "folder": str(folder),
        "desk": str(desk),
        "peers": [{"name": one.name, "role": one.role, "key": one.key} for one in book.peers],
    }
    return CommandAnswer(tuple(lines), document, code=DONE)


def _engine_words(engine: Engine) -> tuple[str, ...]:
    if engine is Engine.AXL and not os.environ.get("ZUNO_AXL_NODE"):
        return ("An AXL node is a program of its own: name it in ZUNO_AXL_NODE.",)
    if engine is Engine.NATS and shutil.which("nats-server") is None:
        return (f"A NATS server must run, with JetStream. {_install()}",)
    return ()


def _install() -> str:
    return f'The client is an extra: {Path(sys.executable).name} -m pip install "zuno-tui[mesh]"'
