"""The mesh beside a running demo, by the commands of its page; and where its folders are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from chain.base.home import Home
from tests.agents.mesh.processes import free_ports, is_listening, nats_program
from tests.waiting import pauses, wait_until
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.app.demo_place import DemoPlace, genesis_at, registered_demo
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady


def test_up_finds_the_folders_where_init_put_them_or_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    async def noted(programs: tuple[object, ...]) -> int:
        ran.append([f"{one.name} {one.folder}" for one in programs])  # type: ignore[attr-defined]
        return DONE

    monkeypatch.setattr("zuno_tui.features.mesh.mesh._up", noted)
    monkeypatch.setenv("ZUNO_NATS_SERVER", "nats-server")
    home, folder = ["--home", str(tmp_path / "home")], tmp_path / "elsewhere"
    [port] = free_ports(1)
    server = ("--server", f"nats://127.0.0.1:{port}")
    init = ["mesh", "init", "--engine", "nats", *server, "--dir", str(folder), *home]
    assert main(init) == DONE
    assert main(["mesh", "up", *home]) == DONE
    agents = [f"agent {name} {folder / name}" for name in ("scout", "strategist", "critic")]
    assert set(agents) <= set(ran[0])
    folder.rename(tmp_path / "moved")
    capsys.readouterr()
    assert main(["mesh", "up", *home]) == FAILED
    assert "Say where they are: --dir DIR" in capsys.readouterr().err
    assert main(["mesh", "up", "--dir", str(tmp_path / "moved"), *home]) == DONE


@pytest.mark.skipif(nats_program() is None, reason="no nats-server: make nats-server")
def test_the_mesh_is_tried_beside_the_demo_by_three_commands(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    [port] = free_ports(1)
    genesis = genesis_at(devnet.url)
    assert genesis is not None
    place = DemoPlace(os.getpid(), devnet.url, genesis, devnet.wallet, str(desk.command.home))
    home = ["--home", str(desk.command.home)]
    Home.locate({}, desk.command.home).prepare()
    with registered_demo(place, [Home.locate({}, desk.command.home)]):
        made = main(
            ["mesh", "init", "--engine", "nats", "--server", f"nats://127.0.0.1:{port}", *home]
        )
        assert made == DONE
        program = nats_program()
        assert program is not None
        up = subprocess.Popen(
            [sys.executable, "-m", "zuno_tui", "mesh", "up", *home],
            env={**os.environ, "ZUNO_NATS_SERVER": program},
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_for(port)
            spoken = _argued(desk)
        finally:
            up.send_signal(signal.SIGINT)
            assert up.wait() == DONE
    assert spoken["choice"]["kind"] in ("hold", "exit", "move")


def _argued(desk: Desk) -> dict[str, Any]:
    """On the mesh and nowhere else; agents take a while to start."""
    token_id = str(desk.token_id("near the edge"))
    for pause in pauses():
        asked = ("recommend", token_id, "--deterministic", "--transport", "mesh", "--json")
        spoken = desk.here(*asked)
        if spoken.code == DONE:
            document: dict[str, Any] = spoken.data
            return document
        time.sleep(pause)
    raise AssertionError(spoken.words)


def _wait_for(port: int) -> None:
    wait_until(lambda: is_listening(port), f"port {port}")
