"""What is said while long logs are read for the first time."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.read.logs import ScanProgress

BETWEEN_SECONDS = 5.0
"""A read that is over sooner is not spoken of."""


def reading_progress(
    tell: Callable[[str], None],
    clock: Callable[[], float] = monotonic,
    *,
    what: str = "the pool's swaps",
) -> Callable[[ScanProgress], None]:
    """Tells now and then how far the reading is."""
    told_at = clock()

    def heard(progress: ScanProgress) -> None:
        nonlocal told_at
        if clock() - told_at >= BETWEEN_SECONDS:
            told_at = clock()
            tell(
                f"Reading {what}: {progress.fraction:.0%}, {progress.found:,} so far. "
                "Progress is saved."
            )

    return heard
