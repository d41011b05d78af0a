"""Who is applying a plan right now: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chain.home import FILE_MODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def applying(database: Path) -> Iterator[bool]:
    """Whether we are the only process applying on this home, for as long as the block lasts.

    An approved step that nobody signs is either about to be signed by a living process, or was
    left by a dead one; only whoever holds this lock may tell them apart and discard it.
    """
    path = database.with_name(database.name + ".applying")
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
