"""What a bus and an agent's host take from outside: limits, time, ids, whose turn it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from agents.bus.envelope import Role


class BusLimits(Struct, frozen=True):
    deadline_seconds: float = 90.0
    """From the first thing an agent found out or passed on, until the flow ends."""
    reading_seconds: float = 0.0
    """Until that first thing is said, before the deadline's clock starts."""
    finishing_seconds: float = 15.0
    """Of the deadline, what is kept for code to finish when models are no longer waited for."""
    quiet_seconds: float = 5.0
    """A flow in which nobody works and nothing arrives for this long has lost a message."""
    flows: int = 256
    side_by_side: int = 8
    """Requests one agent works on at once."""
    mailbox: int = 64
    remote_messages: int = 4096
    """Messages that one flow takes from agents outside this process."""
    inbox: int = 512
    """Thoughts kept for a reader who is slow; later ones are dropped, the end never is."""
    farewell_seconds: float = 2.0
    """How long to wait for the handlers of an ended flow to stop; they are not heard either way."""


async def _at_once(_: Role) -> None:
    return None


class Ambient(Struct, frozen=True):
    """What a bus takes from the world around it; a test or a replay gives its own."""

    clock: Callable[[], float]
    """Seconds since 1970; asked once for every envelope."""
    new_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    turn: Callable[[Role], Awaitable[None]] = _at_once
    """Awaited before a role speaks: a replay lets all speak in the order of their record."""
