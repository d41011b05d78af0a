"""`requirements.lock` as records: each package with its version, hashes and who needs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = re.compile(r"([a-z0-9][a-z0-9.-]*)==(\S+?)(?: ; (.+?))?(?: \\)?")
_HASH = re.compile(r"    --hash=sha256:([0-9a-f]{64})(?: \\)?")
_PARENT = re.compile(r"    # (?:via |  )([a-z0-9][a-z0-9.-]*)(?: \(pyproject\.toml\))?")
_PARENTS_FOLLOW = "    # via"


@dataclass(frozen=True, slots=True)
class LockedPackage:
    name: str
    version: str
    marker: str
    """On which machines it is needed; empty for all."""
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]


def read_lock(text: str) -> tuple[LockedPackage, ...]:
    """Every package of the lock; a line that says anything else is refused, not passed over."""
    return tuple(_packages(text.splitlines()))


def _packages(lines: list[str]) -> Iterator[LockedPackage]:
    starts = [place for place, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head = _PACKAGE.fullmatch(lines[start])
        if head is None:
            raise ValueError(f"Line {start + 1} of the lock names no package: {lines[start]!r}")
        hashes: list[str] = []
        parents: list[str] = []
        for place, line in enumerate(lines[start + 1 : end], start + 2):
            if digest := _HASH.fullmatch(line):
                hashes.append(digest[1])
            elif parent := _PARENT.fullmatch(line):
                parents.append(parent[1])
            elif line != _PARENTS_FOLLOW:
                raise ValueError(f"Line {place} of the lock cannot be read: {line!r}")
        if not hashes:
            raise ValueError(f"{head[1]} has no hash in the lock.")
        yield LockedPackage(head[1], head[2], head[3] or "", tuple(hashes), tuple(parents))
