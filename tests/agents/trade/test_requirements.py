"""The table of requirements names every one of them once, and for each a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

from tests.printed import printed

ROOT = Path(__file__).parent.parent.parent.parent
_SPAN = re.compile(r"F(\d+)(?:–F(\d+))?")


def _rows() -> list[list[str]]:
    page = (Path(__file__).parent / "requirements.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| F")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_requirement_is_named_once() -> None:
    named: list[int] = []
    for row in _rows():
        for first, last in _SPAN.findall(row[0]):
            named += range(int(first), int(last or first) + 1)

    assert sorted(named) == list(range(1, 154))


def test_every_test_that_is_named_exists() -> None:
    sources = "".join(
        path.read_text("utf-8")
        for folder in (
            "agents/trade",
            "agents/memory",
            "agents/model",
            "chain/exchange",
            "zuno_tui/charts",
            "zuno_tui/commands",
            "zuno_tui/gate",
        )
        for path in (ROOT / "tests" / folder).glob("test_*.py")
    )
    holding = {row[0]: re.findall(r"`(test_\w+)`", row[1]) for row in _rows()}
    named = {name for names in holding.values() for name in names}

    printed(f"G1: F1 to F153, held by {len(named)} tests")
    assert all(holding.values())
    assert not {name for name in named if f"def {name}(" not in sources}
