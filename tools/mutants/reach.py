"""A map from blocks of lines to the tests that run them, learnt once and kept by content."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from tools.mutants.changes import MODULE
from tools.mutants.places import changed_files, copy_project, list_test_files
from tools.mutants.probes import name_of, with_probes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tools.mutants.changes import Change


class RecordedTest(Struct, frozen=True):
    """One test as it ran on the unchanged project."""

    name: str
    seconds: float
    passed: bool
    on_chain: bool
    ran: frozenset[str]

    @property
    def file(self) -> str:
        return self.name.split("::", 1)[0]

    @property
    def files_run(self) -> set[str]:
        return {name.split(":", 1)[0] for name in self.ran}


def covering_tests(
    change: Change, runs: Sequence[RecordedTest], importers: Mapping[str, set[str]]
) -> list[RecordedTest]:
    """The passing tests that run the changed line: those made for its file first, then by time."""
    made_for = importers.get(change.path, set())
    names = {name_of(change.path, change.block), _any_block(change.path, change.block.scope)}
    chosen = [run for run in runs if names & run.ran]
    if not chosen:
        near = {change.path}
        if change.block.scope == MODULE:
            near |= made_for
        chosen = [run for run in runs if run.files_run & near or run.file in near]
    return sorted(
        (run for run in chosen if run.passed),
        key=lambda run: (run.on_chain, run.file not in made_for, run.seconds),
    )


def learn(root: Path, cache: Path, endings: Sequence[str] | None = None) -> list[RecordedTest]:
    """Every test's run, of files named so if any: as kept, where it has not changed since."""
    cache.mkdir(parents=True, exist_ok=True)
    digests = {path: _digest(root / path) for path in changed_files(root)}
    kept: dict[str, list[RecordedTest]] = {}
    missing: list[str] = []
    for path in list_test_files(root):
        if endings is not None and not path.endswith(tuple(endings)):
            continue
        runs = _kept(cache, path, root, digests)
        if runs is None:
            missing.append(path)
        else:
            kept[path] = runs
    if missing:
        sys.stderr.write(f"Learning what {len(missing)} test files run …\n")
        with TemporaryDirectory(prefix="mutants-") as folder:
            project = Path(folder, "project")
            _copy_with_probes(root, project, digests)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = pool.map(partial(_rows, project), missing)
                for path, rows in zip(missing, found, strict=True):
                    _keep(cache, path, _digest(root / path), digests, rows)
                    kept[path] = [_run(row) for row in rows]
    return [run for path in sorted(kept) for run in kept[path]]


def _copy_with_probes(root: Path, project: Path, paths: Iterable[str]) -> None:
    copy_project(root, project)
    for path in paths:
        file = project / path
        file.write_text(with_probes(path, file.read_text("utf-8")), "utf-8")


def _rows(project: Path, path: str) -> list[dict[str, Any]]:
    with TemporaryDirectory(prefix="mutants-") as folder:
        logs, rows = Path(folder, "logs"), Path(folder, "rows")
        logs.mkdir()
        rows.touch()
        ended = subprocess.run(
            [sys.executable, "-m", "tools.mutants.learning", str(rows), str(logs), path],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(project)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        # A file of large counts alone has none to collect.
        if ended.returncode not in (
            0,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            raise SystemExit(f"{path} could not be run; see: pytest {path}")
        return [json.loads(line) for line in rows.read_text("utf-8").splitlines()]


def _keep(
    cache: Path,
    path: str,
    digest: str,
    digests: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    ran = {name.split(":", 1)[0] for row in rows for name in row["ran"]}
    files = {name: digests[name] for name in sorted(ran)}
    entry = {"test": digest, "files": files, "rows": rows}
    _entry(cache, path).write_text(json.dumps(entry), "utf-8")


def _kept(
    cache: Path, path: str, root: Path, digests: Mapping[str, str]
) -> list[RecordedTest] | None:
    try:
        entry = json.loads(_entry(cache, path).read_text("utf-8"))
    except FileNotFoundError:
        return None
    if entry["test"] != _digest(root / path):
        return None
    changed = {name for name, digest in entry["files"].items() if digests.get(name) != digest}
    return [_run(row, changed) for row in entry["rows"]]


def _run(row: Mapping[str, Any], changed: Collection[str] = ()) -> RecordedTest:
    """Of files that changed since, only the functions are known that it ran, not their blocks."""
    places = (name.rsplit(":", 1)[0].split(":", 1) for name in row["ran"])
    ran = {
        _any_block(path, scope) if path in changed else name
        for name, (path, scope) in zip(row["ran"], places, strict=True)
    }
    return RecordedTest(row["test"], row["seconds"], row["passed"], row["chain"], frozenset(ran))


def _any_block(path: str, scope: str) -> str:
    return f"{path}:{scope}:*"


def _entry(cache: Path, path: str) -> Path:
    return cache / (path.replace("/", "-") + ".json")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
