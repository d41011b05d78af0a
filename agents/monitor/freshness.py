"""Whether what was read a while ago still counts."""

from __future__ import annotations


def still_fresh(read_at: float | None, kept_seconds: float, now: float) -> bool:
    """A time that lies ahead is of a clock that was set back, and says nothing."""
    return read_at is not None and 0 <= now - read_at < kept_seconds
