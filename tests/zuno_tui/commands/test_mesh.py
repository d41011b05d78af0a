"""`zuno mesh`, alone and beside a demo."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.agents.mesh.processes import free_ports, is_listening, nats_program
from tests.waiting import pauses, wait_until
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.app.demo_place import DemoPlace, genesis_at, registered_demo
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.features.mesh.commands.mesh import ShowMesh
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, USAGE


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def init(home: Path, *options: str) -> int:
    return main(["mesh", "init", "--home", str(home), *options])


def test_a_new_mesh_has_private_keys_and_links_with_nobody_else(home: Path) -> None:
    assert init(home) == DONE
    members = home.with_name("home-mesh")
    book = json.loads((members / "scout" / "peers.json").read_bytes())
    assert [peer["role"] for peer in book["peers"]] == [
        *("cli", "scout", "strategist", "critic", "arbiter")
    ]
    assert (
        len({peer["key"] for peer in book["peers"]} | {one["node"] for one in book["peers"]}) == 10
    )
    for folder in (home / "mesh", *(members / name for name in ("scout", "arbiter"))):
        assert folder.stat().st_mode & 0o077 == 0
        for name in ("key.pem", "node.pem"):
            assert (folder / name).stat().st_mode & 0o777 == 0o600
        config = json.loads((folder / "node.json").read_bytes())
        assert all("127.0.0.1" in url for url in (*config["Peers"], *config["Listen"]))
        assert (config["tcp_port"], config["bridge_addr"]) == (7000, "127.0.0.1")
    units = {path.name for path in (members / "systemd").iterdir()}
    assert {"zuno-agent-scout.service", "zuno-node-scout.service"} <= units
    assert init(home) == FAILED, "keys that are there are never replaced"


def test_four_machines_and_strangers_only_where_they_are_named(home: Path) -> None:
    hosts = "desk=10.0.0.1,scout=10.0.0.2,critic=10.0.0.4"
    assert (
        init(home, "--hosts", hosts, "--public-peers", "tls://example.com:1", "--critics", "2") == 0
    )
    config = json.loads((home.with_name("home-mesh") / "critic" / "node.json").read_bytes())
    assert config["Listen"] == ["tls://10.0.0.4:9643"]
    assert "tls://10.0.0.2:9641" in config["Peers"]
    assert config["Peers"][-1] == "tls://example.com:1"
    book = json.loads((home / "mesh" / "peers.json").read_bytes())
    owners = [peer["owner"] for peer in book["peers"] if peer["role"] == "critic"]
    assert len(set(owners)) == 2


@pytest.mark.parametrize(
    "options", [("--hosts", "nobody=10.0.0.1"), ("--hosts", "scout"), ("--dir", "HOME/inside")]
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    home: Path, options: tuple[str, str]
) -> None:
    name, value = options
    assert init(home, name, value.replace("HOME", str(home))) == FAILED
    assert not list(home.rglob("key.pem"))


def test_without_a_mesh_it_is_said_where_the_agents_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mesh", "--home", str(home), "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["engine"] is None


def test_a_mesh_that_is_not_there_is_a_matter_of_the_network(home: Path) -> None:
    assert init(home, "--port", "1999") == DONE
    assert main(["mesh", "--home", str(home)]) == NETWORK


def test_an_agent_plays_the_role_of_its_key_and_stays_away_from_wallets(home: Path) -> None:
    init(home, "--port", "1999")
    scout = home.with_name("home-mesh") / "scout"
    assert main(["agent", "critic", "--home", str(scout)]) == FAILED
    (scout / "keystore").mkdir()
    assert main(["agent", "scout", "--home", str(scout)]) == FAILED
    with pytest.raises(SystemExit) as refused:
        main(["agent", "nobody"])
    assert refused.value.code == USAGE


@pytest.mark.parametrize("phrase", ["mesh", "peers", "agents", "show peers", "mesh status"])
def test_it_is_asked_for_in_plain_words(phrase: str) -> None:
    found = registry().verb_at_start(phrase.split())
    assert found is not None
    assert registry().command_of(ShowMesh()).verbs == (found[0],)


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


@pytest.mark.soak
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
