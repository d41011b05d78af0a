"""What others see of a running monitor: its sign of life, who polls, what it tells systemd."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, to_builtins

from agents.monitor.alerts.state import MonitorState
from agents.monitor.deliver.delivery import Postponed, Sent, SetAside, Stopped
from chain.base.clean_text import clean_text
from chain.base.home import holders_note, take_lock
from chain.base.store import Store

if TYPE_CHECKING:
    from agents.monitor.poll import PollReport

NAMESPACE = "monitor"
_KEY = "heartbeat"
_GRACE_SECONDS = 30.0
"""A round that reads slowly is not a death."""


class Sight(Struct, frozen=True):
    """What was last seen of one wallet on one network."""

    network: str
    wallet_address: str
    block: int | None
    positions: int
    trouble: str | None


class Beat(Struct, frozen=True):
    at: float
    pid: int
    host: str
    interval_seconds: float
    sights: tuple[Sight, ...]
    trouble: str | None
    """What keeps the whole of it from being well, such as a full disk."""

    def age(self, now: float) -> float:
        return max(0.0, now - self.at)

    def overdue(self, now: float) -> bool:
        """Whether the next one should have come by now."""
        return self.age(now) > 2 * self.interval_seconds + _GRACE_SECONDS


def sight_of(report: PollReport) -> Sight:
    return Sight(
        report.network, report.wallet_address, report.block, report.positions, report.trouble
    )


def write_beat(notebook: MonitorState, beat: Beat) -> None:
    notebook.put(NAMESPACE, _KEY, to_builtins(beat), now=beat.at)


def last_beat(store: Store) -> Beat | None:
    return store.read(Beat, NAMESPACE, _KEY)


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
    def is_held(self) -> bool:
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
    content = json.dumps(to_builtins(holder), ensure_ascii=True).encode()
    return content.ljust(_LENGTH - 1)[: _LENGTH - 1] + b"\n"


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


_MICRO = 1_000_000


class Supervisor:
    """Tells whoever started us; without one, every word goes nowhere."""

    def __init__(self, address: str | None, watchdog_seconds: float | None) -> None:
        self._address = address
        self.watchdog_seconds = watchdog_seconds
        """How long we may be silent before we are taken for dead; None: nobody watches."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Supervisor:
        address = environment.get("NOTIFY_SOCKET") or None
        # A path, or @ and a name outside the file system; anything else is another protocol.
        if address is not None and address[0] not in "/@":
            address = None
        return cls(address, _watchdog(environment) if address else None)

    def ready(self, status: str) -> None:
        self._tell("READY=1", _status(status))

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def report_status(self, status: str) -> None:
        self._tell(_status(status))

    def report_stop(self) -> None:
        self._tell("STOPPING=1", _status("ending"))

    def _tell(self, *lines: str) -> None:
        if self._address is None:
            return
        place = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        # A supervisor that does not listen is no reason to stop watching.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.setblocking(False)
            channel.sendto("\n".join(lines).encode(), place)


def _status(text: str) -> str:
    return f"STATUS={clean_text(text)}"


def _watchdog(environment: Mapping[str, str]) -> float | None:
    meant = environment.get("WATCHDOG_PID")
    if meant and meant != str(os.getpid()):
        return None
    microseconds = environment.get("WATCHDOG_USEC", "")
    if not microseconds.isascii() or not microseconds.isdigit() or int(microseconds) == 0:
        return None
    return int(microseconds) / _MICRO


class WaitingForTurn(Struct, frozen=True):
    """Another process polls on this home; we take over when it ends."""

    holder: Holder


class TurnTaken(Struct, frozen=True):
    """From now on we poll."""


class RoundEnded(Struct, frozen=True):
    """Everything was looked at once."""

    beat: Beat
    reports: tuple[PollReport, ...]
    seconds: float


class SubscriptionChanged(Struct, frozen=True):
    """A network's new blocks are announced from now on, or no longer and polled for instead."""

    network: str
    trouble: str | None
    """Why they are not."""


class Troubled(Struct, frozen=True):
    """Something is not as it should be; the watch goes on."""

    sentence: str


class OrdersCarried(Struct, frozen=True):
    """Where several machines have the same orders: who tries them first, from now on."""

    here: bool | None
    """None where nobody says."""
    host: str
    since: float


Note: TypeAlias = (
    WaitingForTurn
    | TurnTaken
    | RoundEnded
    | SubscriptionChanged
    | Troubled
    | OrdersCarried
    | Sent
    | Postponed
    | Stopped
    | SetAside
)
