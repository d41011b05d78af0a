"""Whether this machine tries an order first, where another one has the same watch key.

A machine that is behind tries an order only once it has been due for a while and the chain shows
no try by the key. A lease on the mesh's NATS server says who is behind; without one the standby is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple

from agents.mesh.lease import HOST_LIMIT, LeaseHolder, LeaseView, NatsLease
from agents.mesh.peers import MEMBER_FILE, Engine, MeshFileError, read_member
from agents.monitor.heartbeat import Note, OrdersCarried, Troubled
from chain.base.clean_text import clean_text
from chain.base.home import Home
from chain.standing_orders.book import MachineRole, StandingOrders
from zuno_tui.features.orders.carrier import BEHIND_SECONDS, SeenLease, write_lease
from zuno_tui.features.orders.sight import LEAST_BLOCKS, Seen, SeenClock

_WRITE_SECONDS = 20.0
_MESH_FOLDER = "mesh"


class _DueOrder(NamedTuple):
    clock: SeenClock
    nonce: int


class Turns:
    """Whether this machine tries first, and since when an order is due that it leaves alone."""

    def __init__(
        self, home: Home, tell: Callable[[Note], None], clock: Callable[[], float]
    ) -> None:
        self._home = home
        self._tell = tell
        self._clock = clock
        self._book = StandingOrders(home.orders)
        self._leases: dict[bytes, NatsLease] = {}
        self._due: dict[int, _DueOrder] = {}
        self._noted: SeenLease | None = None
        self._troubled = ""

    @property
    def is_shared(self) -> bool:
        """Whether another machine may have the same watch key."""
        return self._book.role is not MachineRole.ALONE

    async def is_behind(self, secret: bytes) -> bool:
        role = self._book.role
        if role is MachineRole.ALONE:
            return False
        view = await self._lease(secret)
        mine = None if view.holder is None else view.holder.machine == _machine(self._home)
        self._note(view, mine)
        return role is MachineRole.STANDBY if mine is None else not mine

    def is_overdue(self, number: int, seen: Seen) -> bool:
        """Whether an order was due for long enough while the chain shows no try by the key."""
        due, clock, nonce = self._due.get(number), seen.clock, seen.key_nonce
        if due is None or due.nonce != nonce or clock.time < due.clock.time:
            self._due[number] = _DueOrder(clock, nonce)
            return False
        waited, blocks = clock.time - due.clock.time, clock.block - due.clock.block
        return waited >= BEHIND_SECONDS and blocks >= LEAST_BLOCKS

    def is_not_due(self, number: int) -> None:
        self._due.pop(number, None)

    async def close(self) -> None:
        for lease in self._leases.values():
            await lease.close()
        self._leases.clear()

    async def _lease(self, secret: bytes) -> LeaseView:
        folder = self._home.root / _MESH_FOLDER
        if not (folder / MEMBER_FILE).exists():
            return LeaseView(None)
        if secret not in self._leases:
            try:
                member = read_member(folder)
            except MeshFileError as error:
                return LeaseView(None, str(error))
            if member.engine is not Engine.NATS:
                return LeaseView(None)
            me = LeaseHolder(_machine(self._home), _host(), self._clock())
            self._leases[secret] = NatsLease(member, secret, me, self._clock)
        return await self._leases[secret].renew()

    def _note(self, view: LeaseView, mine: bool | None) -> None:
        if view.trouble and view.trouble != self._troubled:
            self._tell(Troubled(f"Who tries orders first is not known: {view.trouble}"))
        self._troubled = view.trouble
        host, since = ("", 0.0) if view.holder is None else (view.holder.host, view.holder.since)
        before, now = self._noted, SeenLease(mine, host, since, self._clock())
        changed = before is None or (before.mine, before.host) != (mine, host)
        if changed:
            self._tell(OrdersCarried(mine, host, since))
        if changed or (before is not None and abs(now.at - before.at) > _WRITE_SECONDS):
            write_lease(self._home, now)
            self._noted = now


def _host() -> str:
    return clean_text(os.uname().nodename, limit=HOST_LIMIT)


def _machine(home: Home) -> str:
    """The same after a restart; another one for each home."""
    return hashlib.sha256(f"{os.uname().nodename}\0{home.root}".encode()).hexdigest()[:32]
