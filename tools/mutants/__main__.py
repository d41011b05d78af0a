"""`python -m tools.mutants`: a seeded sample of changed lines, and which the tests notice."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tools.mutants.equivalents import FILE, entry_for, read_equivalents
from tools.mutants.judging import judge_all
from tools.mutants.places import AREAS, ROOT, changed_files
from tools.mutants.reach import learn
from tools.mutants.sampling import every_change, sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.mutants.changes import Change
    from tools.mutants.reach import RecordedTest
    from tools.mutants.running import Verdict

SEED = 20261115
COUNT = 200
WANTED = 0.95
_MOST_SHOWN = 120
"""Characters of a test's name: some are named by the bytes they are given."""


def main() -> int:
    options = _options()
    began = time.monotonic()
    changes = every_change(ROOT)
    areas = {
        area: [change for change in found if _is_wanted(change, options.file)]
        for area, found in changes.items()
        if area in options.area
    }
    chosen = sample(areas, options.seed, options.count)
    equivalents = read_equivalents(FILE)
    if options.fresh:
        shutil.rmtree(_cache(), ignore_errors=True)
    runs = learn(ROOT, _cache(), options.test)
    learnt = time.monotonic() - began
    total = sum(len(found) for found in areas.values())
    print(f"{len(chosen)} of {total} changes, seed {options.seed}")
    verdicts = _judged(chosen, runs, equivalents, options.workers)
    survived = [one for one, verdict in verdicts if verdict is not None and verdict.by is None]
    _report(verdicts, learnt, time.monotonic() - began - learnt)
    for change in survived:
        print(entry_for(change))
    caught = sum(_outcome(verdict) == "caught" for _, verdict in verdicts)
    return 0 if not survived and caught >= WANTED * len(chosen) else 1


def _is_wanted(change: Change, endings: Sequence[str] | None) -> bool:
    return endings is None or change.path.endswith(tuple(endings))


def _judged(
    chosen: Sequence[Change],
    runs: Sequence[RecordedTest],
    equivalents: Mapping[str, str],
    workers: int,
) -> list[tuple[Change, Verdict | None]]:
    """Each with its verdict; None for those named as equivalent."""
    open_ones = [change for change in chosen if change.name not in equivalents]
    verdicts: list[tuple[Change, Verdict | None]] = []
    with TemporaryDirectory(prefix="mutants-") as folder:
        found = judge_all(ROOT, open_ones, runs, workers, Path(folder))
        for change in chosen:
            verdict = None if change.name in equivalents else next(found)
            verdicts.append((change, verdict))
            _tell(change, verdict, equivalents)
    return verdicts


def _tell(change: Change, verdict: Verdict | None, equivalents: Mapping[str, str]) -> None:
    before, after = change.shown
    if verdict is None:
        said = f"equivalent: {equivalents[change.name]}"
    elif verdict.by is None:
        left = f", {verdict.left} too slow to try" if verdict.left else ""
        said = f"SURVIVED {verdict.tried} tests{left} ({verdict.seconds:.1f} s)"
    else:
        said = f"caught by {verdict.by[:_MOST_SHOWN]} ({verdict.seconds:.1f} s)"
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
    total = max(1, len(verdicts))
    print(
        f"caught {caught} of {total} ({100 * caught / total:.1f} %; asked: {100 * WANTED:.0f} %,"
        f" the rest equivalent); the map {learnt:.0f} s, the tries {took:.0f} s\n"
    )


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return "equivalent"
    return "survived" if verdict.by is None else "caught"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zuno-mutants"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--area", action="append", choices=tuple(AREAS))
    parser.add_argument("--file", action="append", help="only changes of files whose path ends so")
    parser.add_argument("--test", action="append", help="only tests of files whose path ends so")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="learn anew which test runs what")
    options = parser.parse_args()
    options.area = options.area or list(AREAS)
    return options


if __name__ == "__main__":
    sys.exit(main())
