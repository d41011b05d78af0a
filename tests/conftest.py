"""What every test shares: one embedded chain a worker, and the large counts left to `make soak`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    if "soak" in str(config.getoption("-m")):
        return
    kept = [item for item in items if "soak" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "soak" in item.keywords])
    items[:] = kept  # type: ignore[index]
