"""The one way a database is opened: for its owner alone, every commit on disk when it returns."""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chain.base.errors import Failure, ZunoError
from chain.base.home import FILE_MODE, set_aside

BUSY_SECONDS = 5.0
_BETWEEN_TRIES = 0.01


def open_database(path: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """Open or create a database; with `any_thread` the caller lets one thread in at a time."""
    # sqlite would create the file readable by all under a lax umask.
    _begin(path)
    connection = connect(path, any_thread=any_thread)
    try:
        make_durable(connection)
    except BaseException:
        connection.close()
        raise
    return connection


class NewerDatabaseError(ZunoError):
    """A file that a later version wrote: what it means there is not known here."""

    failure = Failure.REFUSED


def open_versioned(path: Path, version: int) -> sqlite3.Connection:
    """Open or create a database of this form; one of a later form is refused, not guessed at."""
    connection = open_database(path)
    written = connection.execute("PRAGMA user_version").fetchone()[0]
    if written > version:
        connection.close()
        raise NewerDatabaseError(
            f"{path} was written by a newer zuno. Update zuno, or use another home: --home DIR"
        )
    if written < version:
        connection.execute(f"PRAGMA user_version = {version}")
    return connection


def connect(path: Path | str, *, any_thread: bool = False) -> sqlite3.Connection:
    """A connection that begins no transaction by itself."""
    return sqlite3.connect(
        path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=not any_thread
    )


def make_durable(
    connection: sqlite3.Connection,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Switch to a write-ahead log; of processes that do so at once, sqlite lets none wait."""
    ends = clock() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or clock() > ends:
                raise
            sleep(_BETWEEN_TRIES)
    connection.execute("PRAGMA synchronous = FULL")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, and no other writer in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_damage(error: Exception) -> bool:
    """Whether the file itself is broken, not the disk full, the folder locked or the like."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError
    )


def set_database_aside(path: Path, *, now: float) -> Path:
    """Move a damaged database out of the way, keeping it, and return where it went."""
    aside = set_aside(path, now=now)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def _begin(path: Path) -> None:
    """Create a database's file for its owner alone; one that is there is left untouched.

    Closing any descriptor of a file drops all locks this process has on it, and without them
    another process takes the log away that the database's writes are still in.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE))
