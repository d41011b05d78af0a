"""A database that two processes share: opening it again may not take the locks of the first."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from chain.base.store import Store

if TYPE_CHECKING:
    from pathlib import Path

_VISIT = """
import sys
from pathlib import Path
from chain.base.store import Store
store, _ = Store.open(Path(sys.argv[1]), now=0.0)
print(store.get("alerts", "7"))
store.close()
"""


def test_a_visitor_that_leaves_takes_no_writes_along(tmp_path: Path) -> None:
    """The first process opens twice, as a monitor does; a second comes, reads and leaves."""
    path = tmp_path / "zuno.db"
    first, _ = Store.open(path, now=0.0)
    second, _ = Store.open(path, now=0.0)
    first.put("alerts", "7", "open", now=0.0)
    assert _visited(path) == "open"
    first.put("alerts", "7", "resolved", now=1.0)
    assert _visited(path) == "resolved"
    second.close()
    first.close()


def _visited(path: Path) -> str:
    command = [sys.executable, "-c", _VISIT, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
