"""Cold start is a budget: the list of what a command imports, read from the running command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.fakes.model_endpoint import says
from tests.fakes.model_in_a_thread import model_in_a_thread
from tests.waiting import HUNG_SECONDS

HEAVY = (
    "web3",
    "ens",
    "websockets",
    "textual",
    "rich",
    "openai",
    "httpx2",
    "eth_account",
    "eth_abi",
    "pydantic",
    "eth",
    "aiohttp",
    "ccxt",
    "matplotlib",
    "numpy",
    "PIL",
)
LIGHT = {
    *("httpcore2", "anyio", "sniffio", "h11", "idna", "truststore"),
    *("msgspec", "sha3", "_pysha3", "typing_extensions"),
}
"""Of other people's packages these, and no more, are what a read needs."""
OURS = ("zuno_tui", "agents", "chain")
MOST_OF_OURS = 156
"""Modules of ours behind `zuno positions`, with a few to spare: 152 on 19 November 2026."""
_TELL = """
import sys
from zuno_tui.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
sys.stderr.write("\\nIMPORTED " + " ".join(sys.modules))
"""


def _modules(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _TELL.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stderr.rpartition("IMPORTED ")[2].split())


def _imported(*arguments: str) -> set[str]:
    return {name.split(".")[0] for name in _modules(*arguments)}


def test_help_imports_nothing_of_the_network() -> None:
    imported = _imported("--help")

    assert imported.isdisjoint((*HEAVY, "httpcore2", "chain", "asyncio"))


@pytest.mark.parametrize(
    "command",
    [
        ("positions", "--since-entry"),
        ("inspect", "28"),
        ("pools",),
        ("balances",),
        ("monitor", "--once"),
    ],
)
def test_no_read_imports_what_is_heavy(
    command: tuple[str, ...], on_devnet: tuple[str, ...], tmp_path: Path
) -> None:
    imported = _imported(*command, *on_devnet, "--home", str(tmp_path))

    assert "httpcore2" in imported
    assert imported.isdisjoint(HEAVY)


def test_positions_are_read_with_few_packages_and_few_modules(
    on_devnet: tuple[str, ...], tmp_path: Path
) -> None:
    modules = _modules("positions", *on_devnet, "--home", str(tmp_path))
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.split()

    ours = {name for name in modules if name.split(".")[0] in OURS}
    others = {name.split(".")[0] for name in modules - ours - {*bare}} - sys.stdlib_module_names
    assert others <= LIGHT
    assert len(ours) <= MOST_OF_OURS
    # What a list of today does not need: the past of pools, the ways alerts go, keys.
    assert ours.isdisjoint(
        {"chain.positions.performance", "chain.history.events", "chain.wallet.secrets"}
        | {"agents.monitor.deliver.telegram", "zuno_tui.settings.channels"}
    )


def test_looking_at_alerts_asks_no_network(tmp_path: Path) -> None:
    imported = _imported("alerts", "--home", str(tmp_path))

    assert imported.isdisjoint((*HEAVY, "httpcore2"))


def test_the_desk_paints_before_it_imports_what_is_heavy() -> None:
    desk = (
        "zuno_tui.cli.desk, zuno_tui.app.session, zuno_tui.screen.look, zuno_tui.screen.app.running"
    )
    told = f"import sys, {desk}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(done.stdout.split())

    assert "textual" in imported
    assert {name.split(".")[0] for name in imported}.isdisjoint(
        {*HEAVY, "httpcore2", "keyring", "coincurve"} - {"textual", "rich"}
    )
    # The back room and the grammar are needed a moment later, and not for the first paint.
    grammar = {"zuno_tui.catalog.interpret", "zuno_tui.commands.recommend"}
    assert imported.isdisjoint({"zuno_tui.desk.desk", *grammar, "agents"})


_MODEL = '[trade.narrative]\nname = "gpt-4o-mini"\nbase_url = "{url}"\n'


def _loaded_in_haste(*arguments: str, **environment: str) -> tuple[int, dict[str, list[str]]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.zuno_tui.loading_probe", *arguments],
        capture_output=True,
        text=True,
        timeout=HUNG_SECONDS,
        check=True,
        env={**os.environ, **environment},
    )
    code, found = json.loads(done.stderr.rpartition("PROBE ")[2])
    return code, found


def test_the_probe_sees_what_is_loaded_in_haste() -> None:
    assert "wcwidth" in _loaded_in_haste("planted", "5")[1]


@pytest.mark.parametrize(
    "command",
    [
        ("trade", "ETH"),
        pytest.param(("trade", "watch", "ETH", "--once"), marks=pytest.mark.soak),
        pytest.param(("hedge", "ID"), marks=pytest.mark.soak),
        ("recommend", "ID"),
        pytest.param(("create", "0.5 WETH with USDC, conservative"), marks=pytest.mark.soak),
    ],
    ids=" ".join,
)
def test_no_deadline_runs_while_a_flow_loads_modules(
    command: tuple[str, ...], devnet: DevnetReady, tmp_path: Path
) -> None:
    """On a slow machine a server's seconds would be spent on our own imports."""
    with model_in_a_thread(says("{}")) as environment:
        settings = tmp_path / "settings.toml"
        settings.write_text(_MODEL.format(url=environment["OPENAI_BASE_URL"]), "utf-8")
        settings.chmod(0o600)
        there = ("--network", "devnet", "--rpc", devnet.url, "--home", str(tmp_path))
        healthy = str(node_rpc.ask(devnet.url, "zuno_status")["positions"]["healthy"])
        words = [healthy if word == "ID" else word for word in command]
        code, found = _loaded_in_haste(*words, *there, **environment)

    assert (code, found) == (0, {})
