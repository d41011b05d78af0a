"""Tests state effects: none near the money replaces a name of ours, and few do elsewhere."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.fork_server import ROOT

OURS = ("agents", "chain", "zuno_tui")
ACTING = ("tests/chain/execution/", "tests/chain/wallet/", "tests/zuno_tui/gate/")
"""Here a test knows what is on the chain, in the journal and on the screen, and no name within."""
MOST_REPLACING = 56
"""Functions elsewhere that put something in the place of our own code; only ever fewer."""
MOST_PRIVATE = 17
"""Functions elsewhere that call what is private to a module of ours; only ever fewer."""
_STANDING_IN = {"SimpleNamespace", "Mock", "MagicMock", "AsyncMock", "create_autospec"}
_SETTING = {"setattr", "delattr", "patch"}
_OF_PATCH = {"object", "dict", "multiple"}


class Offence(NamedTuple):
    line: int
    where: str
    """The outermost function; tests of a class are told apart by their class."""
    kind: str


def offences(source: str, *, is_acting: bool) -> list[Offence]:
    """What replaces our own names, stands in for our objects, or calls what is private to us.

    Where tests act on what moves money, a target that cannot be told from the text is one of ours.
    """
    tree = ast.parse(source)
    names = _Names(tree)
    return [
        Offence(node.lineno, where, kind)
        for where, node in _located(tree)
        if (kind := names.offence(node, is_acting=is_acting)) is not None
    ]


class _Names:
    """Which names of a module are ours, and which are known to be others'."""

    def __init__(self, tree: ast.Module) -> None:
        self.ours, self.others, self.private = set[str](), set[str](), set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    bound = each.asname or each.name.split(".")[0]
                    (self.ours if _is_ours(each.name) else self.others).add(bound)
            elif isinstance(node, ast.ImportFrom):
                self._take(node)

    def _take(self, node: ast.ImportFrom) -> None:
        ours = _is_ours(node.module or "")
        for each in node.names:
            (self.ours if ours else self.others).add(each.asname or each.name)
            if ours and _is_private(each.name):
                self.private.add(each.asname or each.name)

    def offence(self, node: ast.expr | ast.stmt, *, is_acting: bool) -> str | None:
        if isinstance(node, ast.Call):
            return self._call(node, is_acting=is_acting)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            places = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            replaced = any(self._is_our(place) for each in places for place in _places(each))
            return "replaced" if replaced else None
        if isinstance(node, ast.Name):
            return "private" if node.id in self.private else None
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            return "private" if self._is_our(node) else None
        return None

    def _call(self, node: ast.Call, *, is_acting: bool) -> str | None:
        name = _last_name(node.func)
        if name in _STANDING_IN or (name == "cast" and _text(node.args[0]) in ("Any", None)):
            return "standing in"
        patches = isinstance(node.func, ast.Attribute) and _last_name(node.func.value) == "patch"
        if name not in _SETTING and not (patches and name in _OF_PATCH):
            return None
        return self._setting(node, unknown_is_ours=is_acting)

    def _setting(self, node: ast.Call, *, unknown_is_ours: bool) -> str | None:
        if not node.args:
            return "replaced" if unknown_is_ours else None
        target = node.args[0]
        if (path := _text(target)) is not None:
            return "replaced" if _is_ours(path) else None
        root = _root(target)
        ours = root in self.ours or (unknown_is_ours and root not in self.others)
        return "replaced" if ours else None

    def _is_our(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and _root(node) in self.ours


def _located(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Every expression and statement with the outermost function that it stands in."""
    for outer in tree.body:
        inner = outer.body if isinstance(outer, ast.ClassDef) else [outer]
        for each in inner:
            named = [part.name for part in (outer, each) if isinstance(part, _NAMED)]
            where = ".".join(dict.fromkeys(named)) or "<module>"
            for node in ast.walk(each):
                if isinstance(node, ast.expr | ast.stmt):
                    yield where, node


_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _is_ours(path: str) -> bool:
    return path.split(".", 1)[0] in OURS


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _places(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _places(each)
    elif isinstance(target, ast.Starred):
        yield from _places(target.value)
    else:
        yield target


def _text(node: ast.expr) -> str | None:
    """A string as written, the fixed beginning of one that is put together included."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return _text(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.fixture(scope="module")
def found() -> list[tuple[str, Offence]]:
    files = {
        file.relative_to(ROOT).as_posix(): file for file in sorted((ROOT / "tests").rglob("*.py"))
    }
    return [
        (path, each)
        for path, file in files.items()
        for each in offences(file.read_text("utf-8"), is_acting=path.startswith(ACTING))
    ]


def test_nothing_of_ours_is_replaced_where_tests_move_money(
    found: list[tuple[str, Offence]],
) -> None:
    near = [
        f"{path}:{each.line} {each.where}: {each.kind}"
        for path, each in found
        if path.startswith(ACTING)
    ]
    assert not near, "\n".join(near)


@pytest.mark.parametrize(
    ("kinds", "most"), [(("replaced", "standing in"), MOST_REPLACING), (("private",), MOST_PRIVATE)]
)
def test_elsewhere_ever_fewer_tests_replace_or_call_what_is_within(
    kinds: tuple[str, ...], most: int, found: list[tuple[str, Offence]]
) -> None:
    where = {f"{path} {each.where}" for path, each in found if each.kind in kinds}
    assert len(where) <= most, f"{len(where)}, at most {most}:\n" + "\n".join(sorted(where))


_OUR_IMPORTS = """
import os
import chain.wallet.files
import zuno_tui.gate.apply as applying
from chain.wallet import signer
from chain.wallet.signer import Signer, _signs
"""


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("monkeypatch.setattr('chain.wallet.signer.guard_process', lambda: None)", "replaced"),
        ("monkeypatch.setattr(f'zuno_tui.app.{name}', lambda: None)", "replaced"),
        ("monkeypatch.setattr(signer, 'recovered', lambda: None)", "replaced"),
        ("monkeypatch.setattr(applying, 'Sender', object)", "replaced"),
        ("monkeypatch.setattr(chain.wallet.files, 'sync_folder', print)", "replaced"),
        ("patch.setattr(Signer, 'sign', print)", "replaced"),
        ("monkeypatch.delattr(Signer, 'sign')", "replaced"),
        ("setattr(signer, name, print)", "replaced"),
        ("monkeypatch.setattr(Signer.sign, 'name', 1)", "replaced"),
        ("Signer.sign = print", "replaced"),
        ("signer.LIMIT += 1", "replaced"),
        ("first, applying.Sender = 1, 2", "replaced"),
        ("del signer.LIMIT", "replaced"),
        ("mock.patch('chain.wallet.signer.sign')", "replaced"),
        ("mock.patch.object(signer, 'sign')", "replaced"),
        ("patch('chain.wallet.signer.sign')", "replaced"),
        ("patch.object(Signer, 'sign')", "replaced"),
        ("SimpleNamespace(address='0x1')", "standing in"),
        ("types.SimpleNamespace(address='0x1')", "standing in"),
        ("MagicMock()", "standing in"),
        ("cast('Any', None)", "standing in"),
        ("cast(Any, None)", "standing in"),
        ("_signs(1)", "private"),
        ("signer._signature(1)", "private"),
        ("Signer._key", "private"),
    ],
)
def test_what_replaces_or_calls_what_is_within_is_found(line: str, kind: str) -> None:
    source = f"{_OUR_IMPORTS}\nasync def test_it(monkeypatch, patch, name):\n    {line}\n"
    for is_acting in (True, False):
        assert {(each.where, each.kind) for each in offences(source, is_acting=is_acting)} == {
            ("test_it", kind)
        }


@pytest.mark.parametrize("target", ["venue", "module", "make()", "self.outbox"])
def test_a_target_that_nobody_can_tell_is_ours_where_tests_move_money(target: str) -> None:
    source = (
        f"{_OUR_IMPORTS}\ndef test_it(monkeypatch):\n    monkeypatch.setattr({target}, 'n', 1)\n"
    )
    assert [each.kind for each in offences(source, is_acting=True)] == ["replaced"]
    assert offences(source, is_acting=False) == []


@pytest.mark.parametrize(
    "line",
    [
        "monkeypatch.setattr(os, 'fsync', fails)",
        "monkeypatch.setattr('resource.setrlimit', fails)",
        "monkeypatch.setenv('HOME', 'elsewhere')",
        "made = Signer(key)",
        "bench.wallet = made",
        "cast('Signer', made)",
        "made.__class__",
        "words[Signer.place] = 1",
        "mock.patch('os.fsync')",
    ],
)
def test_what_lies_outside_may_be_replaced(line: str) -> None:
    source = f"{_OUR_IMPORTS}\ndef test_it(monkeypatch, bench):\n    {line}\n"
    assert offences(source, is_acting=True) == []
