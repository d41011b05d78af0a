"""The clock of whoever waits."""

from __future__ import annotations

import asyncio
import time


def loop_time() -> float:
    """Seconds that only grow: the event loop's, by which all in it wait, else the machine's."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()
