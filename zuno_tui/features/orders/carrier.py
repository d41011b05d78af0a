"""Who carries the orders out: this machine or another one that has the same watch key."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agents.monitor.heartbeat import Holder, current_holder
from chain.base.clean_text import clean_text
from chain.base.home import Home, write_atomically
from chain.base.units import minute_text
from chain.standing_orders.book import MachineRole, StandingOrders

BEHIND_SECONDS = 36
"""Network seconds for which whoever is behind leaves an order that is due to the other one."""
OTHER_GOES_ON = "The other machine with this watch key goes on; stop it there, too."
_FRESH_SECONDS = 90.0
_FILE = "carrier.json"
_HOST_LIMIT = 64


class SeenLease(Struct, frozen=True):
    """What the lease said last."""

    mine: bool | None
    host: str
    since: Annotated[float, Meta(ge=0, lt=2**50)]
    at: float


class Carrier(Struct, frozen=True):
    """As far as this machine can tell."""

    role: MachineRole
    here: Holder | None
    """Which process watches this home now."""
    first: bool | None
    """Whether this machine tries first; None where nobody says."""
    other_host: str | None
    other_since: float | None

    @property
    def words(self) -> str:
        here = self.here
        by = "" if here is None else f"process {here.pid} on {here.host} since {_time(here.since)}"
        if self.role is MachineRole.ALONE:
            return f"Carried out here, by {by}." if by else ""
        if self.first is False and self.other_host is not None:
            other = f"Carried out by {self.other_host} since {_time(self.other_since or 0)}."
            if by:
                return f"{other} This machine tries what was left for {BEHIND_SECONDS} s."
            return f"{other} Nobody runs zuno here, so this machine takes nothing over."
        if not by:
            return "Nobody runs zuno here; whether the other machine does is not known."
        if self.first or (self.first is None and self.role is MachineRole.FIRST):
            return f"Carried out here, by {by}. Another machine has the same watch key."
        return (
            f"Standby, by {by}: tries what the other machine has left for {BEHIND_SECONDS} s. "
            "Whether that one runs only a mesh over NATS tells."
        )


def _time(second: float) -> str:
    return minute_text(int(second))


def write_lease(home: Home, seen: SeenLease) -> None:
    write_atomically(home.orders / _FILE, msgspec.json.encode(seen))


def read_carrier(home: Home, now: float) -> Carrier:
    role = StandingOrders(home.orders).role
    here = current_holder(home.monitor_lock)
    seen = None
    with suppress(OSError, msgspec.DecodeError):
        seen = msgspec.json.decode((home.orders / _FILE).read_bytes(), type=SeenLease)
    if seen is None or role is MachineRole.ALONE or abs(now - seen.at) > _FRESH_SECONDS:
        return Carrier(role, here, None, None, None)
    if seen.mine is not False:
        return Carrier(role, here, seen.mine, None, None)
    host = clean_text(seen.host, limit=_HOST_LIMIT)
    return Carrier(role, here, False, host, seen.since)


def carrier_words(home: Home) -> str:
    return read_carrier(home, time.time()).words if home.orders.exists() else ""
