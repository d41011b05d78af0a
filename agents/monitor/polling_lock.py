"""Who polls on a home: a lock that ends with its process, and the name of who holds it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from chain.base.clean_text import clean_text
from chain.base.locks import holders_note, take_lock

# Always written whole and equally long: a reader sees one holder or another, never a mixture.
_LENGTH = 256
_HOST_LIMIT = 64


class Holder(Struct, frozen=True):
    pid: int
    host: str
    since: float

    @classmethod
    def myself(cls, *, now: float) -> Holder:
        return cls(os.getpid(), clean_text(os.uname().nodename, limit=_HOST_LIMIT), now)


class PollingLock:
    """The right to poll: one process has it, the system gives it on when that one dies."""

    def __init__(self, path: Path, me: Holder) -> None:
        self._path = path
        self._me = me
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def take(self) -> bool:
        """Hold it from now on, if nobody else does; OSError where there can be no such file."""
        if self._descriptor is not None:
            return True
        self._descriptor = take_lock(self._path)
        if self._descriptor is None:
            return False
        # Who holds it is a courtesy to readers; on a full disk the lock holds without it.
        with suppress(OSError):
            os.pwrite(self._descriptor, _written(self._me), 0)
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def current_holder(path: Path) -> Holder | None:
    """Who polls now; None when nobody does, whatever an earlier holder left in the file."""
    note = holders_note(path, _LENGTH)
    return None if note is None else _read(note)


def _written(holder: Holder) -> bytes:
    content = {"pid": holder.pid, "host": holder.host, "since": holder.since}
    return json.dumps(content, ensure_ascii=True).encode().ljust(_LENGTH - 1)[: _LENGTH - 1] + b"\n"


def _read(content: bytes) -> Holder:
    """The holder as the file names it; an unreadable file still has one."""
    try:
        fields = json.loads(content)
        return Holder(
            int(fields["pid"]),
            clean_text(str(fields["host"]), limit=_HOST_LIMIT),
            float(fields["since"]),
        )
    except (ValueError, KeyError, TypeError):
        return Holder(0, "unknown", 0.0)
