"""A process that holds a key leaves no core file and lets no other process of the user look in."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def guard_process() -> bool:
    """Ask the system for both; whether it agreed, since not every system can."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform != "linux":
            return True
        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, ValueError, AttributeError):
        return False
