"""Units for systemd: one for each node and agent, each with its own folder and nothing else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agents.bus.envelope import CLI
from agents.mesh.layout import DESK, NODE_FILE
from agents.mesh.peers import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agents.mesh.layout import MeshPlan

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
