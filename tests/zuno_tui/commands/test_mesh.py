"""`zuno mesh` and `zuno agent`: what is written, what is refused, and how it is asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.features.mesh.commands.mesh import ShowMesh
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, USAGE

if TYPE_CHECKING:
    from pathlib import Path


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
