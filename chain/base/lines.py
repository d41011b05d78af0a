"""Files that are only ever added to, a line at a time."""

from __future__ import annotations

import os
from pathlib import Path

from chain.base.home import FILE_MODE


def append_line(path: Path, line: bytes) -> None:
    """On disk when it returns; a line before it that was cut off in writing stays alone."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE)
    try:
        size = os.fstat(descriptor).st_size
        whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
        rest = line + b"\n" if whole else b"\n" + line + b"\n"
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
