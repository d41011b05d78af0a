"""The journal's file: begun whole, opened durable, and refused when it is damaged.

It is never set aside and begun anew: it may hold the only copy of signed bytes.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from chain.base.home import sync_folder
from chain.base.locks import locked_if_free
from chain.base.sqlite import connect, make_durable
from chain.execution.outbox.journal import OutboxError, prepare


def applying(database: Path) -> AbstractContextManager[bool]:
    """Whether we are the only process applying on this home, for as long as the block lasts.

    An approved step that nobody signs is either about to be signed by a living process, or was
    left by a dead one; only whoever holds this lock may tell them apart and discard it.
    """
    return locked_if_free(database.with_name(database.name + ".applying"))


_WAY_ON = (
    "What was sent is written there, so it is left as it is. Put a good copy in its place; or, "
    "when nothing of this wallet waits for a block, move the file away yourself and go on."
)


def open_journal(path: Path) -> sqlite3.Connection:
    """Open or begin the journal; every commit is on disk before it returns."""
    try:
        if not path.exists() and not path.is_symlink():
            _begin(path)
        size = _size(path)
        connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise OutboxError(
            f"The journal in {path} cannot be opened: {error}.", "Choose another: --home DIR"
        ) from error
    try:
        # sqlite would take a file that was cut to nothing for a new one.
        if not size:
            raise _damaged(path, "it is empty")
        make_durable(connection)
        [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _damaged(path, verdict)
        prepare(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        raise OutboxError(
            f"The journal in {path} cannot be used now: {error}. Nothing is signed without it.",
            "Close the other zuno, or free some disk space, and try again.",
        ) from error
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _damaged(path, str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Several reads that see one moment, whatever other processes write."""
    try:
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OutboxError(
            f"The journal cannot be read: {error}. Nothing is signed without it.", _WAY_ON
        ) from error


def _begin(path: Path) -> None:
    """A journal appears under its name only when it is whole, whoever else begins one meanwhile."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    begun = Path(temporary)
    try:
        connection = connect(begun)
        try:
            prepare(connection)
        finally:
            connection.close()
        os.link(begun, path)
    except FileExistsError:
        return
    finally:
        begun.unlink()
    sync_folder(path.parent)


def _size(path: Path) -> int:
    """Of the file itself, never of one it leads to; asked without opening it.

    Closing a descriptor of the journal would drop the locks of whoever applies in this process.
    """
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found.st_size


def _damaged(path: Path, why: str) -> OutboxError:
    return OutboxError(
        f"The journal in {path} is damaged: {why}. Nothing is signed without it.", _WAY_ON
    )
