"""Private folders in the temporary one. They go with their process, however it ends."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chain.base.home import take_lock

_PREFIX = "zuno-run-"
_LOCK = ".lock"
"""A file of its own: what works in the folder may lock the folder itself for a moment."""
_held: dict[Path, int] = {}
"""The lock on each folder of this process: a folder without one is nobody's any more."""


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """A new folder for as long as the block lasts; what killed processes left is removed first."""
    _sweep()
    folder = _locked_folder(kind)
    try:
        yield folder
    finally:
        if folder in _held:
            shutil.rmtree(folder, ignore_errors=True)
            leave_behind(folder)


def leave_behind(folder: Path) -> None:
    """Let somebody read what is in it, until the next start removes it."""
    os.close(_held.pop(folder))


def remove_scratch() -> None:
    """Every folder of this process, before it ends without leaving its blocks."""
    for folder in tuple(_held):
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(kind: str) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        # Whoever sweeps may come before the lock does: then the folder is gone.
        with suppress(FileNotFoundError):
            lock = take_lock(folder / _LOCK, wait=True)
            if lock is not None and folder.is_dir():
                _held[folder] = lock
                return folder


def _sweep() -> None:
    """Remove this user's folders that nobody holds; a link is never followed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            # What an older zuno works in has its lock on the folder itself.
            if (older := take_lock(folder, folder=True)) is None:
                continue
            os.close(older)
            if (lock := take_lock(folder / _LOCK)) is not None:
                # It refuses what is no folder, and a link that took its place meanwhile.
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
