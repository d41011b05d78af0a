"""What is declared is imported by the product, and what is imported is declared."""

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from chain.contracts.addresses import address_of, recovered_address
from tools.shape import statements

ROOT = Path(__file__).parent.parent
ROOMS = ("zuno_tui", "agents", "chain")
FEATURES = ROOT / "zuno_tui" / "features"
EXTRAS = {
    "charts": (
        ROOT / "zuno_tui" / "charts",
        FEATURES / "trade" / "chart.py",
        FEATURES / "lab" / "backtest.py",
        FEATURES / "lab" / "calibrate.py",
    ),
    "acp": (FEATURES / "mcp" / "editor_agent.py",),
    "ledger": (ROOT / "chain" / "wallet" / "ledger" / "transport.py",),
    "mcp": (FEATURES / "mcp" / "server.py",),
    "mesh": (ROOT / "agents" / "mesh",),
    "serve": (FEATURES / "window" / "server.py",),
}
"""What only these files import is an extra of its own."""

HELD_BACK = {"pyunormalize"}
"""Bounded for the sake of another package, which imports it."""

KEY = bytes(31) + b"\x01"
ADDRESS = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf"
"""Of the key one, as every Ethereum library computes it."""


def test_what_is_declared_is_imported_and_the_other_way_round() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    sources = {path for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    of_extras = {
        extra: {path for path in sources if any(map(path.is_relative_to, places))}
        for extra, places in EXTRAS.items()
    }

    needed = _distributions(sources.difference(*of_extras.values()))

    assert needed | HELD_BACK == _names(project["dependencies"])
    for extra, files in of_extras.items():
        assert _distributions(files) - needed == _names(project["optional-dependencies"][extra])


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0] for requirement in requirements}


def _distributions(sources: set[Path]) -> set[str]:
    """The packages these files import, early or late, by the names they are installed by."""
    known = _installed()
    outside = {
        module
        for path in sources
        for module in _imported(path)
        if module not in sys.stdlib_module_names and module not in ROOMS
    }
    # What is not installed here, as coincurve on the newest Python, is called by its module.
    return {known.get(module, [module])[0].lower().replace("_", "-") for module in outside}


@cache
def _installed() -> Mapping[str, list[str]]:
    """By module the packages that bring it; to look takes seconds."""
    return packages_distributions()


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("compiled", [True, False])
def test_keys_and_signatures_have_the_same_address_without_the_compiled_module(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eth_keys.datatypes import PrivateKey

    signature = PrivateKey(KEY).sign_msg_hash(bytes(32))
    if compiled:
        pytest.importorskip("coincurve", reason="it has no wheel for this Python")
    else:
        monkeypatch.setitem(sys.modules, "coincurve", None)

    recovered = recovered_address(bytes(32), parity=signature.v, r=signature.r, s=signature.s)

    assert (address_of(KEY), recovered) == (ADDRESS, ADDRESS)
