"""`python -m mutants`: a seeded sample of changed lines, and which of them the tests notice."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mutants.equivalents import FILE, entry_for, read_equivalents
from mutants.places import AREAS, ROOT, changed_files
from mutants.reach import covering_tests, learn
from mutants.running import Copy, Verdict
from mutants.sampling import every_change, sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mutants.changes import Change
    from mutants.reach import RecordedTest

SEED = 20261115
COUNT = 200
WANTED = 0.95


def main() -> int:
    options = _options()
    began = time.monotonic()
    changes = every_change(ROOT)
    areas = {area: found for area, found in changes.items() if area in options.area}
    chosen = sample(areas, options.seed, options.count)
    equivalents = read_equivalents(FILE)
    if options.fresh:
        shutil.rmtree(_cache(), ignore_errors=True)
    runs = learn(ROOT, _cache())
    learnt = time.monotonic() - began
    total = sum(len(found) for found in areas.values())
    print(f"{len(chosen)} of {total} changes, seed {options.seed}")
    verdicts = _judged(chosen, runs, equivalents)
    survived = [one for one, verdict in verdicts if verdict is not None and verdict.by is None]
    _report(verdicts, learnt, time.monotonic() - began - learnt)
    for change in survived:
        print(entry_for(change))
    mattering = sum(verdict is not None for _, verdict in verdicts)
    return 0 if mattering and 1 - len(survived) / mattering >= WANTED else 1


def _judged(
    chosen: Sequence[Change], runs: Sequence[RecordedTest], equivalents: Mapping[str, str]
) -> list[tuple[Change, Verdict | None]]:
    """Each with its verdict; None for those named as equivalent."""
    importers = _importers()
    verdicts: list[tuple[Change, Verdict | None]] = []
    with TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy.made(ROOT, Path(folder) / "project")
        for change in chosen:
            if change.name in equivalents:
                verdict = None
            else:
                verdict = copy.judge(change, covering_tests(change, runs, importers))
                verdict = _confirmed(copy, change, verdict, runs, importers)
            verdicts.append((change, verdict))
            _tell(change, verdict, equivalents)
    return verdicts


def _confirmed(
    copy: Copy,
    change: Change,
    verdict: Verdict,
    runs: Sequence[RecordedTest],
    importers: Mapping[str, set[str]],
) -> Verdict:
    """A test that also fails on the unchanged project notices nothing: on without it."""
    failing = [run for run in runs if run.name == verdict.by]
    if not failing or not failing[0].on_chain or copy.first_failure(failing) is None:
        return verdict
    others = [run for run in covering_tests(change, runs, importers) if run.name != verdict.by]
    return _confirmed(copy, change, copy.judge(change, others), runs, importers)


def _tell(change: Change, verdict: Verdict | None, equivalents: Mapping[str, str]) -> None:
    before, after = change.shown
    if verdict is None:
        said = f"equivalent: {equivalents[change.name]}"
    elif verdict.by is None:
        left = f", {verdict.left} too slow to try" if verdict.left else ""
        said = f"SURVIVED {verdict.tried} tests{left} ({verdict.seconds:.1f} s)"
    else:
        said = f"caught by {verdict.by} ({verdict.seconds:.1f} s)"
    print(f"{change.path}:{change.line}\n    {before}\n  → {after}\n    {said}", flush=True)


def _report(verdicts: Sequence[tuple[Change, Verdict | None]], learnt: float, took: float) -> None:
    areas = changed_files(ROOT)
    counts = Counter((areas[change.path], _outcome(verdict)) for change, verdict in verdicts)
    print(f"\n{'':10}{'caught':>10}{'survived':>10}{'equivalent':>12}")
    for area in (*AREAS, "all"):
        row = [
            sum(n for (of, was), n in counts.items() if was == outcome and area in (of, "all"))
            for outcome in ("caught", "survived", "equivalent")
        ]
        print(f"{area:10}{row[0]:>10}{row[1]:>10}{row[2]:>12}")
    caught = sum(n for (_, was), n in counts.items() if was == "caught")
    mattering = sum(n for (_, was), n in counts.items() if was != "equivalent")
    print(
        f"caught {caught} of {mattering} that matter"
        f" ({100 * caught / max(1, mattering):.1f} %, asked: {100 * WANTED:.0f} %);"
        f" the map {learnt:.0f} s, the tries {took:.0f} s\n"
    )


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return "equivalent"
    return "survived" if verdict.by is None else "caught"


def _importers() -> dict[str, set[str]]:
    """By file the files that import it at once, of those that may be changed."""
    found: dict[str, set[str]] = {}
    for path in changed_files(ROOT):
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.setdefault(node.module.replace(".", "/") + ".py", set()).add(path)
    return found


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zuno-mutants"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--area", action="append", choices=tuple(AREAS))
    parser.add_argument("--fresh", action="store_true", help="learn anew which test runs what")
    options = parser.parse_args()
    options.area = options.area or list(AREAS)
    return options


if __name__ == "__main__":
    sys.exit(main())
