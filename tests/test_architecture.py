"""The rooms and their doors, as far as an import contract cannot see."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.shape import ROOMS, bare_participles, circles, copied_records, repeated_classes

ROOT = Path(__file__).parent.parent
HEAVY = {"web3", "openai", "eth_account"}
LONGEST_FILE = 900
_REFERENCE = "chain/protocols/reference.py"
_FILES_OF_REFERENCES = (
    *("agents/bus/envelope.py", "agents/monitor/alerts/store_tables.py"),
    *("chain/exchange/orders/hedge.py", "zuno_tui/desk/portfolio.py"),
    "zuno_tui/desk/reading.py",
    "zuno_tui/gate/approvals.py",
)


def _sources(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]


def _imported_at_once(path: Path) -> set[str]:
    """What a module imports as soon as it is imported itself."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(ast.parse(path.read_text("utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
    return found


def test_the_screen_imports_what_is_heavy_only_when_it_needs_it() -> None:
    heavy = {
        str(path.relative_to(ROOT)): found
        for path in _sources("zuno_tui")
        if (found := _imported_at_once(path) & HEAVY)
    }

    assert heavy == {}


def test_no_file_has_grown_past_reading() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in _sources("zuno_tui", "agents", "chain")
        if (lines := len(path.read_text("utf-8").splitlines())) > LONGEST_FILE
    }

    assert long == {}


def test_one_module_signs_for_people_and_the_embedded_chain_for_itself() -> None:
    signing = {
        str(path.relative_to(ROOT))
        for path in _sources("zuno_tui", "agents", "chain")
        if re.search(r"Account\.sign_|unsafe_sign_hash", path.read_text("utf-8"))
    }

    assert {name for name in signing if not name.startswith("chain/devnet/")} == {
        "chain/wallet/local_key.py"
    }


@pytest.mark.parametrize(
    ("done", "places"),
    [
        ("fcntl.flock(", {"chain/base/home.py"}),
        ("sqlite3.connect(", {"chain/base/sqlite.py"}),
        ("AsyncConnectionPool(", {"chain/base/http.py"}),
        ("AsyncHTTPTransport(", {"agents/model/connection.py"}),
        ("PositionRef(", {_REFERENCE}),
        ("stored_position(", {_REFERENCE, *_FILES_OF_REFERENCES}),
    ],
)
def test_what_must_be_right_is_done_in_one_place(done: str, places: set[str]) -> None:
    """Locks, databases and connections; and references of positions, made of bare numbers."""
    found = {
        str(path.relative_to(ROOT))
        for path in _sources("zuno_tui", "agents", "chain")
        if done in path.read_text("utf-8")
    }

    assert found == places


def test_children_are_started_in_one_place() -> None:
    """There the folder that one stands in is kept off their path."""
    starting = {
        str(path.relative_to(ROOT))
        for path in _sources("zuno_tui", "agents", "chain")
        if "sys.executable" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.List | ast.Tuple)
        and any(ast.unparse(part) == "sys.executable" for part in node.elts)
    }

    assert starting == {"chain/base/own_program.py"}


def test_what_a_loop_goes_over_has_a_name() -> None:
    nameless = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _sources("zuno_tui", "agents", "chain")
        if re.search(r"\bone\s*([,)\]:=]|in\b)|\bas one\b", text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "one"
    ]

    assert nameless == []


def test_public_names_say_what_is_done_or_returned_and_files_import_one_way() -> None:
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text("utf-8")
        )
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
    }

    assert [name for tree in trees.values() for name in bare_participles(tree)] == []
    assert repeated_classes(trees.values()) == []
    assert list(circles(trees)) == []


WRITTEN_BY_HAND = {
    "zuno_tui/app/export.py": "a transaction as wallets import it",
    "zuno_tui/catalog/completion.py": "no document: what may follow each verb",
    "zuno_tui/features/lab/calibrate.py": "a data file with rounded figures, twice",
    "zuno_tui/features/safe/signing.py": "typed data, which EIP-712 spells out",
    "zuno_tui/gate/approvals.py": "what the approval's hash is over, as version 1 wrote it",
    "agents/monitor/rules/risks.py": "the figures of an alert, from three records",
    "agents/trade/observe/observer.py": "the numbers the experts may cite, twice",
}


def test_a_document_is_the_record_it_is_made_from() -> None:
    copies = {
        name
        for path in _sources("zuno_tui", "agents")
        if list(copied_records(ast.parse(path.read_text("utf-8"))))
        for name in [str(path.relative_to(ROOT))]
    }

    assert copies == WRITTEN_BY_HAND.keys()
