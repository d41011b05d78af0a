"""Signing shuts a process off from others, for good; a test's own process is opened again."""

from __future__ import annotations

import ctypes
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_DUMPABLE = 4


@contextmanager
def opened_again() -> Iterator[None]:
    try:
        yield
    finally:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
