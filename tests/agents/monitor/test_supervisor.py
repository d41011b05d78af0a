"""The notify protocol, against a datagram socket as systemd opens one."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from agents.monitor.heartbeat import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@zuno-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name if name[0] == "/" else "\0" + name[1:])
        yield listening, name


def test_what_is_told_arrives_as_systemd_reads_it(manager: tuple[socket.socket, str]) -> None:
    listening, name = manager
    supervisor = Supervisor.from_environment({"NOTIFY_SOCKET": name})

    supervisor.ready("watching 2 wallets")
    supervisor.alive()
    supervisor.doing("block 7\nREADY=0\x1b[2J")
    supervisor.stopping()

    told = [listening.recv(4096).decode() for _ in range(4)]
    assert told[0] == "READY=1\nSTATUS=watching 2 wallets"
    assert told[1] == "WATCHDOG=1"
    assert told[2] == "STATUS=block 7 READY=0[2J"
    assert told[3].startswith("STOPPING=1\n")


@pytest.mark.parametrize(
    "environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1234"}]
)
def test_without_a_supervisor_words_go_nowhere(environment: dict[str, str]) -> None:
    supervisor = Supervisor.from_environment(environment)

    supervisor.ready("well")
    assert supervisor.watchdog_seconds is None


def test_a_supervisor_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    Supervisor(str(tmp_path / "nobody"), None).alive()


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_for_the_process_it_names(
    told: dict[str, str], seconds: float | None
) -> None:
    supervisor = Supervisor.from_environment({"NOTIFY_SOCKET": "/run/x", **told})

    assert supervisor.watchdog_seconds == seconds
