"""One test file run on a copy with probes: `python -m tools.mutants.learning ROWS LOGS FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.mutants.reach_plugin import ReachPlugin

if __name__ == "__main__":
    rows, logs, file = sys.argv[1:]
    plugin = ReachPlugin(Path(rows), Path(logs))
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", file], [plugin]))
