"""The changes that are made, the sample of them, and a planted hole that is found."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tools.mutants.changes import MODULE, Block, Change, changes_of
from tools.mutants.equivalents import FILE, entry_for, read_equivalents
from tools.mutants.expressions import enums_of
from tools.mutants.judging import _importers
from tools.mutants.places import AREAS, ROOT, changed_files, list_test_files
from tools.mutants.probes import name_of, with_probes
from tools.mutants.reach import RecordedTest, covering_tests
from tools.mutants.running import NO_END, Copy
from tools.mutants.sampling import every_change, sample

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


def test_a_changed_file_is_a_file_with_that_change_alone() -> None:
    source = (
        "def one(a):\n    # why\n    if a:\n        return 1\n    elif a > 2:\n        return 3\n"
    )

    for change in _changes(source):
        lines = ast.unparse(ast.parse(change.applied(source))).splitlines()
        pairs = zip(lines, ast.unparse(ast.parse(source)).splitlines(), strict=True)
        assert sum(one != other for one, other in pairs) == 1, change


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


def test_tests_that_cannot_even_be_imported_notice_too(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(LIMIT, "utf-8")
    (tmp_path / "test_planted.py").write_text(HOLED + "\n\nassert allowed(100)\n", "utf-8")
    [hole] = [one for one in _changes(LIMIT) if one.after == "return amount < LIMIT"]

    assert Copy(tmp_path).judge(hole, _runs(["test_much_is_refused"])).by is not None


def _runs(names: Sequence[str]) -> list[RecordedTest]:
    return [
        RecordedTest(f"test_planted.py::{name}", 0.1, True, False, frozenset()) for name in names
    ]


def test_probes_tell_which_block_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("MUTANTS_LOG", str(log))
    space: dict[str, object] = {}
    exec(with_probes("planted.py", LIMIT), space)
    assert not log.exists()

    allowed = space["allowed"]
    assert callable(allowed)
    assert allowed(1)
    assert log.read_text("utf-8").split() == ["planted.py:allowed:0"]
    with pytest.raises(ValueError, match="0"):
        allowed(0)
    assert log.read_text("utf-8").split()[1:] == ["planted.py:allowed:1"]


def test_only_passing_tests_that_run_the_line_are_asked_those_made_for_it_first() -> None:
    inside = next(one for one in _changes(LIMIT) if one.block.scope != MODULE)
    outside = next(one for one in _changes(LIMIT) if one.block.scope == MODULE)
    here, elsewhere = (name_of("planted.py", inside.block), "planted.py:other:0")
    user = "user.py:pay:0"
    runs = [
        RecordedTest("t::chain", 0.1, True, True, frozenset({here})),
        RecordedTest("t::slow", 2.0, True, False, frozenset({here})),
        RecordedTest("t::quick", 0.5, True, False, frozenset({here})),
        RecordedTest("t::broken", 0.0, False, False, frozenset({here})),
        RecordedTest("t::elsewhere", 0.0, True, False, frozenset({elsewhere})),
        RecordedTest("t::user", 3.0, True, False, frozenset({user})),
        RecordedTest("t::before", 1.0, True, False, frozenset({"planted.py:allowed:*"})),
        RecordedTest("made_for::reads", 4.0, True, False, frozenset()),
        RecordedTest("made_for::runs", 5.0, True, False, frozenset({here})),
    ]

    def asked(change: Change, importers: dict[str, set[str]]) -> list[str]:
        return [run.name.split("::")[1] for run in covering_tests(change, runs, importers)]

    assert asked(inside, {}) == ["quick", "before", "slow", "runs", "chain"]
    importers = {"planted.py": {"user.py", "made_for"}}
    assert asked(inside, importers) == ["runs", "quick", "before", "slow", "chain"]
    found = asked(outside, importers)
    assert found == ["reads", "runs", "elsewhere", "quick", "before", "slow", "user", "chain"]


@pytest.fixture(scope="module")
def changes() -> dict[str, list[Change]]:
    return every_change(ROOT)


def test_a_sample_is_the_same_for_the_same_seed_and_even_over_the_areas(
    changes: dict[str, list[Change]],
) -> None:
    areas = changed_files(ROOT)

    one, again, other = (sample(changes, seed, 10 * len(AREAS)) for seed in (1, 1, 2))

    assert set(changes) == set(AREAS)
    assert [each.name for each in one] == [each.name for each in again]
    assert {each.name for each in one} != {each.name for each in other}
    assert {area: sum(areas[each.path] == area for each in one) for area in AREAS} == dict.fromkeys(
        AREAS, 10
    )


def test_every_equivalent_is_a_change_that_can_still_be_made(
    changes: dict[str, list[Change]],
) -> None:
    known = {one.name for found in changes.values() for one in found}

    reasons = read_equivalents(FILE)

    assert set(reasons) <= known
    assert all(reasons.values())


def test_an_entry_reads_back_as_the_change_it_names(tmp_path: Path) -> None:
    source = "def one(a):\n    return a < 'it\\'s \"so\"'\n"
    file = tmp_path / "equivalents.toml"
    for change in _changes(source):
        file.write_text(entry_for(change), "utf-8")

        assert list(read_equivalents(file)) == [change.name]


def test_the_tests_that_must_notice_are_there() -> None:
    found = list_test_files(ROOT)

    assert "tests/chain/execution/test_policy.py" in found
    assert all((ROOT / path).exists() for path in found)


def test_a_try_is_endless_only_by_what_its_tests_take_unchanged_in_the_same_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "planted.py").write_text(LIMIT, "utf-8")
    (tmp_path / "test_planted.py").write_text(HOLED, "utf-8")
    [hole] = [one for one in _changes(LIMIT) if one.after == "return amount < LIMIT"]
    learnt_elsewhere = [replace(one, seconds=-100.0) for one in _runs(["test_much_is_refused"])]

    assert Copy(tmp_path).first_failure(learnt_elsewhere) == NO_END
    assert Copy(tmp_path).judge(hole, learnt_elsewhere).by is None


@pytest.mark.parametrize(
    "line",
    [
        "from zuno_tui.gate.limits import gate_limits",
        "from zuno_tui.gate import limits",
        "from zuno_tui.gate import limits as limiting",
    ],
)
def test_a_test_is_made_for_a_file_however_it_imports_it(tmp_path: Path, line: str) -> None:
    for name, text in (
        ("zuno_tui/gate/limits.py", "A = 1\n"),
        ("tests/zuno_tui/gate/test_limits.py", line + "\n"),
        ("tests/zuno_tui/gate/test_other.py", "from zuno_tui.gate import drift\n"),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = _importers(tmp_path)["zuno_tui/gate/limits.py"]
    assert found == {"tests/zuno_tui/gate/test_limits.py"}
