"""The changes that are made, the sample of them, and a planted hole that is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.mutants.changes import Block, Change, changes_of
from tools.mutants.equivalents import FILE, read_equivalents
from tools.mutants.expressions import enums_of
from tools.mutants.places import ROOT, list_test_files
from tools.mutants.reach import RecordedTest
from tools.mutants.running import Copy
from tools.mutants.sampling import every_change

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT = '''
"""How much may leave."""

LIMIT = 100


def allowed(amount: int) -> bool:
    """At most the limit."""
    if amount <= 0:
        raise ValueError(f"{amount} is no amount")
    return amount <= LIMIT
'''
HOLED = """
import pytest
from msgspec.structs import replace
from planted import allowed


def test_much_is_refused():
    assert allowed(1) and not allowed(1000)


def test_nothing_is_no_amount():
    with pytest.raises(ValueError):
        allowed(0)
"""
AT_THE_LIMIT = """

def test_the_limit_itself():
    assert allowed(100) and not allowed(101)
"""


def _changes(source: str) -> list[Change]:
    return list(changes_of("planted.py", source, enums_of(source)))


def _shown(source: str) -> set[tuple[str, str]]:
    return {(one.before, one.after) for one in _changes(source)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return a < b", "return a <= b"),
        ("return a < b", "return a >= b"),
        ("return a and b", "return a or b"),
        ("return a and b", "return a"),
        ("return not a", "return a"),
        ("return a + 1", "return a - 1"),
        ("return a + 1", "return a + 2"),
        ("return min(a, b)", "return max(a, b)"),
        ("return a.lower", "return a.upper"),
        ("return a.amount0", "return a.amount1"),
        ("return a if b else c", "return c if b else a"),
        ("return [x for x in a if x]", "return [x for x in a]"),
        ("return Kind.ONE", "return Kind.TWO"),
        ("return f(a)", "return None"),
        ("raise ValueError('a < b')", "pass"),
        ("a.b = c", "pass"),
        ("a.append(b)", "pass"),
    ],
)
def test_a_statement_is_changed(before: str, after: str) -> None:
    kinds = "class Kind(Enum):\n    ONE = 'one'\n    TWO = 'two'\n"

    assert (before, after) in _shown(f"{kinds}\ndef one():\n    {before}\n")


@pytest.mark.parametrize(
    "line",
    [
        '"""At most 5."""',
        "import limits",
        "one: Literal[5]",
        'SAID = f"{5 + 1} left"',
        "LEFT_WORDS = {1: 'one'}",
        "pairs = zip(a, b, strict=True)",
        "if TYPE_CHECKING:\n    FEW = 5",
    ],
)
def test_what_is_no_logic_is_left_alone(line: str) -> None:
    assert _shown(line) == set()


def test_a_planted_hole_survives_until_a_test_is_written(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(LIMIT, "utf-8")
    (tmp_path / "test_planted.py").write_text(HOLED, "utf-8")
    names = ["test_much_is_refused", "test_nothing_is_no_amount"]
    inside = Block("allowed", 0)
    [hole] = [
        one
        for one in _changes(LIMIT)
        if one.block == inside and one.after == "return amount < LIMIT"
    ]
    [seen] = [one for one in _changes(LIMIT) if one.after == "if amount > 0:"]
    copy = Copy(tmp_path)

    assert copy.judge(seen, _runs(names)).by is not None
    assert copy.judge(hole, _runs(names)).by is None

    (tmp_path / "test_planted.py").write_text(HOLED + AT_THE_LIMIT, "utf-8")
    names.append("test_the_limit_itself")

    assert copy.judge(hole, _runs(names)).by == "test_planted.py::test_the_limit_itself"
    assert (tmp_path / "planted.py").read_text("utf-8") == LIMIT


def _runs(names: Sequence[str]) -> list[RecordedTest]:
    return [
        RecordedTest(f"test_planted.py::{name}", 0.1, True, False, frozenset()) for name in names
    ]


@pytest.fixture(scope="module")
def changes() -> dict[str, list[Change]]:
    return every_change(ROOT)


def test_every_equivalent_is_a_change_that_can_still_be_made(
    changes: dict[str, list[Change]],
) -> None:
    known = {one.name for found in changes.values() for one in found}

    reasons = read_equivalents(FILE)

    assert set(reasons) <= known
    assert all(reasons.values())


def test_the_tests_that_must_notice_are_there() -> None:
    found = list_test_files(ROOT)

    assert "tests/chain/execution/test_policy.py" in found
    assert all((ROOT / path).exists() for path in found)
