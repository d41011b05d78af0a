"""Cold start is a budget: the list of what a command imports, read from the running command."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

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
MOST_OF_OURS = 151
"""Modules of ours behind `zuno positions`, with a few to spare: 139 on 18 November 2026."""
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
        ("positions",),
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
