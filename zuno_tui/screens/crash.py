"""The one page that is shown when zuno itself fails: no frames, no values, only what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def crash_page(error: BaseException, log: Path | None) -> str:
    """Names the kind of the fault alone: its words may hold what must not be on a screen."""
    where = "" if log is None else f"  Where it happened is written in {log}\n"
    return (
        f"\nzuno met a fault of its own ({type(error).__name__}) and closed the desk.\n\n"
        "  Your positions are as they were: nothing is signed without the word you type.\n"
        "  What was sent before is in the outbox, and goes on:  zuno outbox\n"
        f"{where}"
        "  Open the desk again:  zuno\n"
    )
