"""Signing shuts a process off from others, for good; a test's own process is opened again."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_DUMPABLE = 4


@contextmanager
def opened_again() -> Iterator[None]:
    try:
        yield
    finally:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
