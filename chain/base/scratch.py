"""Private folders in the temporary one. They go with their process, however it ends."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chain.base.home import take_lock

_PREFIX = "zuno-run-"
_held: dict[Path, int] = {}
"""The lock on each folder of this process: a folder without one is nobody's any more."""


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """A new folder for as long as the block lasts; what killed processes left is removed first."""
    _sweep(Path(tempfile.gettempdir()))
    folder, lock = _locked_folder(kind)
    _held[folder] = lock
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


def _locked_folder(kind: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        # Whoever sweeps may come before the lock does: then the folder is gone.
        with suppress(FileNotFoundError):
            lock = take_lock(folder, wait=True, folder=True)
            if lock is not None and folder.is_dir():
                return folder, lock


def _sweep(place: Path) -> None:
    """Remove this user's folders that nobody holds; a link is never followed."""
    with os.scandir(place) as entries:
        named = [entry for entry in entries if entry.name.startswith(_PREFIX)]
    for entry in named:
        with suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            lock = take_lock(Path(entry.path), folder=True)
            if lock is not None:
                # It refuses a link that took the folder's place meanwhile.
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)
