"""`zuno monitor --systemd-unit`: the unit file that keeps this very zuno watching."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WATCHDOG_SECONDS = 120

_UNIT = """\
# For one person: ~/.config/systemd/user/zuno-monitor.service, then
#   systemctl --user enable --now zuno-monitor
#   loginctl enable-linger      # so that it goes on when you log out
# Tokens belong into monitor.env in zuno's home (chmod 600), not into this file.

[Unit]
Description=zuno watches liquidity positions and sends alerts
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
EnvironmentFile=-{environment}
Restart=always
RestartSec=5
WatchdogSec={watchdog}
TimeoutStartSec=60
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=default.target
"""


def unit_text(home: Path, options: Sequence[str] = ()) -> str:
    command = (sys.executable, "-m", "zuno_tui", "monitor", "--home", str(home), *options)
    return _UNIT.format(
        command=" ".join(_quoted(word) for word in command),
        environment=_specifiers(str(home / "monitor.env")),
        watchdog=WATCHDOG_SECONDS,
    )


def _quoted(word: str) -> str:
    """One argument as systemd reads it, whatever characters it has."""
    escaped = _specifiers(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(char in word for char in " \t\"'\\;") else escaped


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")
