"""Whether tests fail on a changed copy of the project, each try in a process forked for it.

Whoever forks has imported the outside packages already and nothing of the project, so that a try
pays for the project's own modules alone.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from tools.mutants.places import copy_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tools.mutants.changes import Change
    from tools.mutants.reach import RecordedTest

_OUTSIDE = (
    "aiohttp", "coincurve", "eth_abi", "eth_account", "h11", "httpx2", "hypothesis.extra",
    "hypothesis.stateful", "openai", "pydantic", "pytest", "pytest_asyncio", "rich",
    "sqlite3", "textual.app",
)  # fmt: skip
_SHARES = (4.0, 16.0, 180.0)
"""Seconds of tests in each try; the next is made only if the one before failed to notice."""
_PATIENCE = 30.0
"""Seconds beyond twice what the tests took, before a try may be endless."""
_TIMES = 5.0
"""As many times as long as on the unchanged project, in the same run, and a try is endless."""
_MOST_SECONDS = 900.0
"""Seconds for tests of the unchanged project, which end."""
NO_END = "no end"
_SECONDS = count(time.time_ns() // 10**6 % 2**31)
"""One for each change: compiled files are told apart by whole seconds, and tries take less."""


class Verdict(Struct, frozen=True):
    """What noticed the change, or nobody."""

    by: str | None
    tried: int
    left: int
    """Tests that would have taken too long."""
    seconds: float


class Copy(Struct, frozen=True):
    """A copy of the project in which one file at a time is changed."""

    folder: Path

    @classmethod
    def made(cls, root: Path, folder: Path) -> Copy:
        copy_project(root, folder)
        for name in _OUTSIDE:
            importlib.import_module(name)
        return cls(folder)

    def judge(self, change: Change, tests: Sequence[RecordedTest]) -> Verdict:
        """Run the tests, the quickest first, until one fails."""
        began, tried = time.monotonic(), 0
        for share in _shares(tests):
            failed = self._try(change, share)
            tried += len(share)
            if failed is not None:
                return Verdict(failed, tried, 0, time.monotonic() - began)
        return Verdict(None, tried, len(tests) - tried, time.monotonic() - began)

    def _try(self, change: Change, tests: Sequence[RecordedTest]) -> str | None:
        """The first failure; no end is believed only by what the same tests take unchanged now."""
        with self._changed(change):
            failed = self.first_failure(tests)
        if failed != NO_END:
            return failed
        began = time.monotonic()
        self.first_failure(tests, stop=False, patience=_MOST_SECONDS)
        patience = _TIMES * (time.monotonic() - began)
        with self._changed(change):
            return self.first_failure(tests, patience=patience)

    @contextmanager
    def _changed(self, change: Change) -> Iterator[None]:
        file = self.folder / change.path
        kept, times = file.read_text("utf-8"), file.stat()
        file.write_text(change.applied(kept), "utf-8")
        second = next(_SECONDS)
        os.utime(file, (second, second))
        try:
            yield
        finally:
            file.write_text(kept, "utf-8")
            os.utime(file, (times.st_atime, times.st_mtime))

    def first_failure(
        self, tests: Sequence[RecordedTest], *, stop: bool = True, patience: float | None = None
    ) -> str | None:
        """The test that failed, or why there was no end; None where all passed."""
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _run(self.folder, answer, [test.name for test in tests], stop=stop)
        learnt = 2 * sum(test.seconds for test in tests) + _PATIENCE
        if not _ended(child, learnt if patience is None else patience):
            return NO_END
        if not answer.exists():
            return "a process that died"
        failed: list[str] | None = json.loads(answer.read_text("utf-8"))
        if failed is None:
            raise SystemExit(f"{tests[0].name} is not there any more. Learn anew: --fresh")
        return " ".join(failed) or None


def _shares(tests: Sequence[RecordedTest]) -> Iterator[list[RecordedTest]]:
    waiting = list(tests)
    for seconds in _SHARES:
        share: list[RecordedTest] = []
        while waiting and (not share or sum(one.seconds for one in share) < seconds):
            share.append(waiting.pop(0))
        if share:
            yield share


def _ended(child: int, patience: float) -> bool:
    """Whether it ended by itself; whatever it started ends with it."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return True
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(folder: Path, answer: Path, names: Sequence[str], *, stop: bool) -> None:
    import pytest

    from tools.mutants.chosen_tests import ChosenTests

    code = 1
    try:
        # Whoever forked has much in its memory, which no collection need look through or copy.
        gc.freeze()
        os.setsid()
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path[0] = str(folder)
        silence = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(silence, stream)
        chosen = ChosenTests(names)
        files = list(dict.fromkeys(name.split("::", 1)[0] for name in names))
        # pytest's own tracebacks look through every module there is for the source of each line.
        flags = ["-q", "-p", "no:cacheprovider", "--tb=native", *(["-x"] if stop else [])]
        ended = pytest.main([*flags, *files], [chosen])
        is_missing = ended == pytest.ExitCode.NO_TESTS_COLLECTED
        if ended and not is_missing and not chosen.failed:
            chosen.failed.append("an import that fails")
        answer.write_text(json.dumps(None if is_missing else chosen.failed), "utf-8")
        code = 0
    finally:
        os._exit(code)
