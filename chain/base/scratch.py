"""Private folders in the temporary one. They go with their process, however it ends."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chain.base.home import FOLDER_MODE, take_lock

_PREFIX = "zuno-run-"
_INSIDE = "home"
_held: dict[Path, int] = {}
"""The lock on the folder around each of this process: one without is nobody's any more."""


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """A new folder for as long as the block lasts; what killed processes left is removed first."""
    _sweep()
    folder = _locked_folder(kind)
    try:
        yield folder
    finally:
        if folder in _held:
            shutil.rmtree(folder.parent, ignore_errors=True)
            leave_behind(folder)


def leave_behind(folder: Path) -> None:
    """Let somebody read what is in it, until the next start removes it."""
    os.close(_held.pop(folder))


def remove_scratch() -> None:
    """Every folder of this process, before it ends without leaving its blocks."""
    for folder in tuple(_held):
        shutil.rmtree(folder.parent, ignore_errors=True)


def _locked_folder(kind: str) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        # Whoever sweeps may come before the lock does: then the folder is gone.
        with suppress(FileNotFoundError):
            lock = take_lock(folder, wait=True, folder=True)
            if lock is not None and folder.is_dir():
                # The one inside is given out: whoever works there may lock it while they write.
                inside = folder / _INSIDE
                inside.mkdir(mode=FOLDER_MODE)
                _held[inside] = lock
                return inside


def _sweep() -> None:
    """Remove this user's folders that nobody holds; a link is never followed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            if (lock := take_lock(folder, folder=True)) is not None:
                # It refuses what is no folder, and a link that took its place meanwhile.
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
