"""What pytest adds while a changed copy is tried: only some tests, and which of them failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


class ChosenTests:
    """Keeps the named tests, in pytest's own order of each file."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = set(names)
        self.failed: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._names]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
