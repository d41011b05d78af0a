"""Which zuno runs, and which rules: what a record says of its writer, to be compared later."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

ZUNO = "zuno"
RULES = "rules"

_LENGTH = 12
# They read the chain or watch it, and have no say in a debate that is run from its record.
_NO_PART_OF_A_DEBATE = frozenset(("monitor", "observing", "__pycache__"))


@cache
def running_versions() -> dict[str, str]:
    """The release, and a hash over the code and prompts that a debate's outcome depends on."""
    found = sha256()
    for package in ("agents", "chain.math"):
        for name, content in _sources(files(package), package):
            found.update(f"{name} {len(content)}\n".encode() + content)
    return {ZUNO: version("zuno-tui"), RULES: found.hexdigest()[:_LENGTH]}


def _sources(folder: Traversable, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            if entry.name not in _NO_PART_OF_A_DEBATE:
                yield from _sources(entry, f"{place}/{entry.name}")
        elif entry.name.endswith((".py", ".txt")):
            yield f"{place}/{entry.name}", entry.read_bytes()
