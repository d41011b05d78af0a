"""What a service manager is told, by systemd's notify protocol: ready, alive, busy, ending."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from chain.base.clean_text import clean_text

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

    def doing(self, status: str) -> None:
        self._tell(_status(status))

    def stopping(self) -> None:
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
