"""Whether the tests notice each change, tried by some processes side by side."""

from __future__ import annotations

import ast
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tools.mutants.places import changed_files, list_test_files
from tools.mutants.reach import covering_tests
from tools.mutants.running import Copy, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.mutants.changes import Change
    from tools.mutants.reach import RecordedTest


class _Desk(Struct):
    """What one process judges with; each has a copy of the project of its own."""

    copy: Copy
    runs: Sequence[RecordedTest]
    importers: dict[str, set[str]]
    fit: set[str] = field(default_factory=set)
    """Tests that passed on the unchanged project in this run, after one failed on a changed one."""
    unfit: set[str] = field(default_factory=set)
    """Tests that fail on the unchanged project, too, and so notice nothing."""

    def judge(self, change: Change) -> Verdict:
        while True:
            known = covering_tests(change, self.runs, self.importers)
            tests = [run for run in known if run.name not in self.unfit]
            verdict = self.copy.judge(change, tests)
            doubtful = [run for run in tests if run.name == verdict.by and self._doubts(run)]
            if not doubtful:
                return verdict
            passes = self.copy.first_failure(doubtful) is None
            (self.fit if passes else self.unfit).add(doubtful[0].name)
            if passes:
                return verdict

    def _doubts(self, run: RecordedTest) -> bool:
        """Whether load alone may have failed it: on a chain each time, else until it passed."""
        return run.on_chain or run.name not in self.fit


_desks: list[_Desk] = []


def judge_all(
    root: Path, changes: Sequence[Change], runs: Sequence[RecordedTest], workers: int, folder: Path
) -> Iterator[Verdict]:
    """Their verdicts, in the same order."""
    started = (root, folder, runs, _importers(root))
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context("fork"), _take_place, started
    ) as pool:
        yield from pool.map(_judge, changes)


def _take_place(
    root: Path, folder: Path, runs: Sequence[RecordedTest], importers: dict[str, set[str]]
) -> None:
    project = Path(mkdtemp(dir=folder)) / "project"
    _desks.append(_Desk(Copy.made(root, project), runs, importers))


def _judge(change: Change) -> Verdict:
    return _desks[0].judge(change)


def _importers(root: Path) -> dict[str, set[str]]:
    """By file the files that import it, of those that may be changed and of the tests."""
    found: dict[str, set[str]] = {}
    for path in (*changed_files(root), *list_test_files(root)):
        for node in ast.walk(ast.parse((root / path).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                # What is imported of a package may be a file of it.
                for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                    found.setdefault(name.replace(".", "/") + ".py", set()).add(path)
    return found
