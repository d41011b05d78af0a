"""Handlers that crash, hang or die, and flows that end in a failure."""

import asyncio
from collections.abc import Awaitable, Callable

from agents.bus.bus import Bus
from agents.bus.envelope import Envelope, FlowFailed, Role
from agents.bus.worker import HandlerContext
from tests.fakes.small_debate import (
    Script,
    Start,
)

CANARY = "sk-canary-0123456789"
START = Start(position=7, rounds=2)


def failure(envelope: Envelope) -> FlowFailed:
    assert isinstance(envelope.payload, FlowFailed), envelope
    return envelope.payload


async def one(bus: Bus[Script], script: Script | None = None) -> Envelope:
    flow = await bus.start(START, services=script or Script())
    return await flow.outcome()


def when(
    role: Role, action: Callable[[], Awaitable[None]]
) -> Callable[[Envelope, HandlerContext[Script]], Awaitable[None]]:
    async def interfere(envelope: Envelope, context: HandlerContext[Script]) -> None:
        if context.role == role:
            await action()

    return interfere


async def crash() -> None:
    raise ConnectionError(f"https://rpc.example/v2/{CANARY}")


async def hang() -> None:
    await asyncio.Event().wait()


async def kill_own_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def raise_cancelled() -> None:
    raise asyncio.CancelledError
