"""One process at a time: a lock on a file or a folder that the system ends with its holder."""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from chain.base.home import FILE_MODE, FOLDER_MODE

_BETWEEN_TRIES = 0.05


def take_lock(path: Path, *, wait: bool = False, folder: bool = False) -> int | None:
    """A descriptor that holds the lock until it is closed; None while somebody else has it."""
    kind = os.O_RDONLY if folder else os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW
    descriptor = os.open(path, kind | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock at this path, then hold it."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = take_lock(path, wait=True, folder=path.is_dir())
    try:
        yield
    finally:
        _end(descriptor)


@asynccontextmanager
async def locked_in_turn(path: Path) -> AsyncIterator[None]:
    """The same without holding up the event loop, on which the holder itself may be waiting."""
    import asyncio  # a command that waits for nobody does without it

    while (descriptor := take_lock(path)) is None:  # noqa: ASYNC110 - another process may hold it
        await asyncio.sleep(_BETWEEN_TRIES)
    try:
        yield
    finally:
        _end(descriptor)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Whether we hold the lock for as long as the block lasts; nobody is waited for."""
    descriptor = take_lock(path)
    try:
        yield descriptor is not None
    finally:
        _end(descriptor)


def holders_note(path: Path, most_bytes: int) -> bytes | None:
    """What the holder wrote into the locked file; None when nobody holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared and for a moment: readers do not disturb each other, a taker tries again anyway.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, most_bytes, 0)
    finally:
        os.close(descriptor)
    return None


def _end(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
