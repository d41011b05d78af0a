"""A sample of all changes: the same for the same seed, and even over the areas."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tools.mutants.changes import Change, changes_of
from tools.mutants.expressions import enums_of
from tools.mutants.places import changed_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ROOMS = ("chain", "agents", "zuno_tui")


def every_change(root: Path) -> dict[str, list[Change]]:
    """All changes of all files, by area."""
    enums: dict[str, tuple[str, ...]] = {}
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.py")):
            enums |= enums_of(file.read_text("utf-8"))
    found: dict[str, list[Change]] = {}
    for path, area in changed_files(root).items():
        source = (root / path).read_text("utf-8")
        found.setdefault(area, []).extend(changes_of(path, source, enums))
    return found


def sample(changes: Mapping[str, Sequence[Change]], seed: int, count: int) -> list[Change]:
    """As many of each area as of any other, by a hash: changes elsewhere move no choice."""
    chosen: list[Change] = []
    areas = sorted(changes, key=lambda area: len(changes[area]))
    for place, area in enumerate(areas):
        share = -(-(count - len(chosen)) // (len(areas) - place))
        chosen += sorted(changes[area], key=lambda one: _lot(seed, one))[:share]
    return sorted(chosen[:count], key=lambda one: (one.path, one.line))


def _lot(seed: int, change: Change) -> bytes:
    return hashlib.sha256(f"{seed}\n{change.name}".encode()).digest()
