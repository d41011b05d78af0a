"""The end of a flow that does not end by itself: its time is over, or a message was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agents.bus.payload import FailureCause

if TYPE_CHECKING:
    from agents.bus.ambient import BusLimits
    from agents.bus.envelope import Role
    from agents.bus.flow import Flow
    from agents.bus.worker import Services

    Fail = Callable[[str, Role, FailureCause, str], None]
    Sleep = Callable[[float], Awaitable[None]]


_LATE = 0.1
"""Of a quiet time, by how much longer it may have taken and still count."""


async def watch_flow(flow: Flow[Services], limits: BusLimits, sleep: Sleep, fail: Fail) -> None:
    """Let it fail at its deadline, or sooner when nobody works and nothing arrives."""
    reading = limits.reading_seconds
    if reading and not await _passed(flow, reading, limits, sleep, fail, until_begun=True):
        reason = f"{flow.stage} had found out nothing after {reading:g} seconds."
    elif await _passed(flow, flow.seconds, limits, sleep, fail):
        return
    else:
        reason = f"It did not end within {flow.seconds:g} seconds."
    fail(flow.request_id, flow.stage, FailureCause.DEADLINE, reason)


async def _passed(
    flow: Flow[Services],
    seconds: float,
    limits: BusLimits,
    sleep: Sleep,
    fail: Fail,
    *,
    until_begun: bool = False,
) -> bool:
    """Whether, before so long has passed, it began, where that is waited for, or was lost."""
    clock = asyncio.get_running_loop().time
    remaining = seconds
    while remaining > 0:
        if flow.over or (until_begun and flow.began_at is not None):
            return True
        step = min(limits.quiet_seconds, remaining)
        before, due = flow.activity, clock() + step
        await sleep(step)
        remaining -= step
        # Who woke up late was busy, and cannot say that the others were silent.
        woke_late = clock() - due > step * _LATE
        if flow.activity == before and flow.working == 0 and remaining > 0 and not woke_late:
            reason = f"{flow.stage} did not receive {flow.last_kind} or did not answer it."
            fail(flow.request_id, flow.stage, FailureCause.LOST, reason)
    return flow.over
