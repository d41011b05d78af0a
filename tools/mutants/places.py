"""Which files are changed, which tests must notice, and copies of the project to try it in."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AREAS: dict[str, tuple[str, ...]] = {
    "policy": (
        "chain/execution/policy/*.py",
        "chain/execution/plan/bounds.py",
        "chain/execution/v*/shapes.py",
        "chain/execution/decode/parties.py",
    ),
    "decoding": (
        "chain/execution/decode/decoder.py",
        "chain/execution/plan/reading.py",
        "chain/execution/v*/records.py",
        "chain/execution/v*/reader.py",
    ),
    "outbox": (
        "chain/execution/outbox/journal*.py",
        "chain/execution/outbox/outbox.py",
        "chain/execution/outbox/records.py",
        "chain/execution/outbox/resume.py",
        "chain/execution/outbox/rules.py",
    ),
    "sending": (
        "chain/execution/outbox/same_chain.py",
        "chain/execution/outbox/delivery.py",
        "chain/execution/outbox/lookup.py",
        "chain/execution/outbox/receipts.py",
        "chain/execution/outbox/sender.py",
    ),
    "gate": ("zuno_tui/gate/**/*.py",),
    "wallet": ("chain/wallet/*.py",),
    "mesh": ("agents/mesh/*.py",),
    "monitor": ("agents/monitor/**/*.py",),
}
TESTS = (
    "tests/chain/execution",
    "tests/chain/wallet",
    "tests/agents/mesh",
    "tests/agents/monitor",
    "tests/zuno_tui/gate",
    "tests/zuno_tui/app",
    "tests/zuno_tui/commands/test_alerts.py",
    "tests/zuno_tui/commands/test_apply.py",
    "tests/zuno_tui/commands/test_changes.py",
    "tests/zuno_tui/commands/test_exit_drill.py",
    "tests/zuno_tui/commands/test_wallet.py",
)
TOO_LONG = (
    "test_delivery_kill.py",
    "test_every_candidate.py",
    "test_excursions_on_chain.py",
    "test_forged_journals.py",
    "test_interrupted_plans.py",
    "test_lies.py",
    "test_several_wallets.py",
    "test_outbox_kill.py",
    "test_processes.py",
    "test_ten_seconds.py",
)
"""Tests of many runs, which take minutes: a change must be noticed without them."""
_COPIED = ("chain", "agents", "zuno_tui", "tests", "tools")
_LEFT = shutil.ignore_patterns("__pycache__", "*.svg", "node_modules")


def changed_files(root: Path) -> dict[str, str]:
    """Every file that may be changed, as `path: area`."""
    found = {
        path.relative_to(root).as_posix(): area
        for area, patterns in AREAS.items()
        for pattern in patterns
        for path in root.glob(pattern)
        if path.name != "__init__.py"
    }
    return dict(sorted(found.items()))


def list_test_files(root: Path) -> list[str]:
    """Every test file that may notice a change."""
    found: set[Path] = set()
    for each in TESTS:
        place = root / each
        found |= {place} if place.suffix else set(place.rglob("test_*.py"))
    return sorted(
        path.relative_to(root).as_posix()
        for path in found
        if path.exists() and path.name not in TOO_LONG
    )


def copy_project(root: Path, to: Path) -> None:
    """The packages and their tests, so that nothing is ever changed in the tree itself."""
    for name in _COPIED:
        shutil.copytree(root / name, to / name, ignore=_LEFT)
    shutil.copy(root / "pyproject.toml", to)
