"""What pytest adds while it is learnt which test runs which lines."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tools.mutants.probes import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHAINS = {"devnet", "ready"}
"""Fixtures that start an embedded chain in a process of its own."""


class ReachPlugin:
    """Writes one line a test: what it ran, how long it took, whether it passed."""

    def __init__(self, results: Path, logs: Path) -> None:
        self._results = results
        self._logs = logs
        self._shared: dict[str, Path] = {}
        """What a fixture shared by several tests ran; it counts for each of them."""
        self._failed: set[str] = set()
        self._count = 0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        log = self._new_log()
        os.environ[LOG] = str(log)
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        fixtures = set(getattr(item, "fixturenames", ()))
        logs = [log, *(self._shared[name] for name in sorted(fixtures & self._shared.keys()))]
        row = {
            "test": item.nodeid,
            "seconds": round(seconds, 3),
            "passed": item.nodeid not in self._failed,
            "chain": bool(fixtures & CHAINS),
            "ran": sorted({name for each in logs for name in _lines(each)}),
        }
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        if fixturedef.scope == "function":
            yield
            return
        kept = os.environ[LOG]
        self._shared[fixturedef.argname] = log = self._new_log()
        os.environ[LOG] = str(log)
        yield
        os.environ[LOG] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def _new_log(self) -> Path:
        self._count += 1
        return self._logs / f"{self._count}.log"


def _lines(log: Path) -> list[str]:
    return log.read_text("utf-8").splitlines() if log.exists() else []
